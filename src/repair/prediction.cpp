#include "fmd/repair/prediction.h"

#include <algorithm>
#include <cmath>

#include "fmd/metrics/bias_measure.h"
#include "fmd/model/passes.h"

namespace fmd {

Predicted path_gap(const HeadProblem& problem, const Vector& theta, const PairSet& pairs,
                   const Exec& exec) {
  const Head& head = *problem.head;
  if (head.outputs() != 1) return {};
  const Vector was = all_logits(head, pairs.c, problem.theta, exec) -
                     all_logits(head, pairs.cbar, problem.theta, exec);
  const Vector is =
      all_logits(head, pairs.c, theta, exec) - all_logits(head, pairs.cbar, theta, exec);
  const Matrix p = all_probabilities(head, pairs.c, problem.theta, exec);
  const Matrix pbar = all_probabilities(head, pairs.cbar, problem.theta, exec);
  double old_sum = 0, sum = 0;
  for (Index i = 0; i < pairs.size(); ++i) {
    const double slope = was[i] == 0 ? p(i, 0) * p(i, 1) : (p(i, 1) - pbar(i, 1)) / was[i];
    const double weight = pairs.weight[static_cast<std::size_t>(i)];
    old_sum += weight * std::abs(slope * was[i]);
    sum += weight * std::abs(slope * is[i]);
  }
  const double value = sum / pairs.total_weight();
  return {
      .value = value, .change = value - old_sum / pairs.total_weight(), .capped = false};
}

Predicted first_order_gap(const HeadProblem& problem, const Vector& theta,
                          const PairSet& pairs, const Exec& exec) {
  const MeasureValue now =
      evaluate(*make_measure("co"), {.pairs = &pairs, .rows = {}, .group = {}},
               *problem.head, problem.theta, true, exec);
  const double change = now.gradient.dot(theta - problem.theta);
  return {.value = std::max(0.0, now.value + change),
          .change = change,
          .capped = now.value + change < 0};
}

}  // namespace fmd
