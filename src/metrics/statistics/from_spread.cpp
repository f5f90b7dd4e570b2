#include "metrics/statistics/from_spread.h"

#include <algorithm>
#include <cmath>

namespace fmd::internal {

Interval from_spread(double value, const std::vector<double>& replicates,
                     double confidence) {
  double sum = 0, squares = 0, count = 0;
  for (const double x : replicates) {
    if (std::isnan(x)) continue;
    sum += x - value;
    squares += (x - value) * (x - value);
    ++count;
  }
  if (std::isnan(value) || 2 * count < static_cast<double>(replicates.size()) || count < 2)
    return {value, kUndefined, kUndefined};
  const double variance = (squares - sum * sum / count) / (count - 1);
  const double half = normal_quantile(confidence) * std::sqrt(std::max(0.0, variance));
  return {value, value - half, value + half, IntervalKind::normal};
}

}  // namespace fmd::internal
