#include "fmd/model/pairs.h"

namespace fmd {

double PairSet::total_weight() const {
  double total = 0;
  for (const float w : weight) total += static_cast<double>(w);
  return total;
}

}  // namespace fmd
