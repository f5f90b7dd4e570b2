#include "repair/paired_loss.h"

#include <cmath>

#include "fmd/metrics/interval.h"

namespace fmd::internal {
namespace {

// How many standard errors the measured loss is below `loss`. The standard error is the one
// under a true difference of `loss`: q is the most likely share of gained rows then.
double score(double lost, double gained, double n, double loss) {
  const double a = 2 * n, b = -lost - gained + (2 * n - lost + gained) * loss;
  const double c = -gained * loss * (1 - loss);
  const double q = (std::sqrt(std::max(0.0, b * b - 4 * a * c)) - b) / (2 * a);
  const double variance = n * (2 * q + loss * (1 - loss));
  return (n * loss - (lost - gained)) / std::sqrt(variance);
}

}  // namespace

double most_loss(Index lost, Index gained, Index rows, double risk) {
  const auto n = static_cast<double>(rows);
  const auto b = static_cast<double>(lost), c = static_cast<double>(gained);
  double low = (b - c) / n, high = 1;
  if (risk >= 0.5) return low;
  const double z = normal_quantile(1 - 2 * risk);
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (score(b, c, n, middle) < z ? low : high) = middle;
  }
  return high;
}

}  // namespace fmd::internal
