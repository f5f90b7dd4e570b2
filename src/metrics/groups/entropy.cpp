#include "fmd/metrics/entropy.h"

#include <cmath>

#include "core/check.h"

namespace fmd {
namespace {

struct Mean {
  double sum = 0, rows = 0;
  [[nodiscard]] double value() const { return rows == 0 ? kUndefined : sum / rows; }
};

Mean mean_benefit(const std::vector<Benefit>& benefits) {
  Mean mean;
  for (const Benefit& b : benefits) {
    require_option(b.value >= 0, "entropy", "benefit", b.value, ">= 0");
    require_option(b.rows >= 0, "entropy", "rows", b.rows, ">= 0");
    mean.sum += b.rows * b.value;
    mean.rows += b.rows;
  }
  return mean;
}

// What a row with the benefit b = ratio mu adds to the index.
double term(double ratio, double alpha) {
  if (alpha == 0) return -std::log(ratio);
  if (alpha == 1) return ratio == 0 ? 0 : ratio * std::log(ratio);
  return (std::pow(ratio, alpha) - 1) / (alpha * (alpha - 1));
}

}  // namespace

std::vector<Benefit> benefits(const Confusion& group) {
  return {{0, group.fn}, {1, group.tp + group.tn}, {2, group.fp}};
}

std::vector<Benefit> benefits(const ScoreRuns& runs) {
  std::vector<Benefit> all;
  for (const ScoreRun& run : runs) {
    all.push_back({run.score, static_cast<double>(run.positive)});
    all.push_back({run.score + 1, static_cast<double>(run.negative)});
  }
  return all;
}

double generalized_entropy(const std::vector<Benefit>& benefits, double alpha) {
  require_option(std::isfinite(alpha), "entropy", "alpha", alpha, "a finite number");
  const Mean mean = mean_benefit(benefits);
  if (!(mean.sum > 0)) return kUndefined;
  double sum = 0;
  for (const Benefit& b : benefits) {
    if (b.rows == 0) continue;
    if (b.value == 0 && alpha <= 0) return kUndefined;
    sum += b.rows * term(b.value / mean.value(), alpha);
  }
  return sum / mean.rows;
}

double theil_index(const std::vector<Benefit>& benefits) {
  return generalized_entropy(benefits, 1);
}

double coefficient_of_variation(const std::vector<Benefit>& benefits) {
  const double entropy = generalized_entropy(benefits, 2);
  return std::sqrt(entropy < 0 ? 0 : 2 * entropy);  // equal benefits may round below 0
}

double between_group_entropy(const std::vector<std::vector<Benefit>>& groups,
                             double alpha) {
  std::vector<Benefit> means;
  for (const std::vector<Benefit>& group : groups) {
    const Mean mean = mean_benefit(group);
    if (mean.rows > 0) means.push_back({mean.value(), mean.rows});
  }
  return generalized_entropy(means, alpha);
}

}  // namespace fmd
