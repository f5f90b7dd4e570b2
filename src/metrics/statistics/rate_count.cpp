#include "metrics/statistics/rate_count.h"

#include <algorithm>

namespace fmd::internal {

RateCount effective(double hits, double of, double squares) {
  if (of == squares || of == 0) return {hits, of};
  const double rows = of * of / squares;
  return {std::min(rows, hits / of * rows), rows};
}

}  // namespace fmd::internal
