#include "fmd/repair/prediction.h"

#include <algorithm>
#include <cmath>

#include "fmd/metrics/bias_measure.h"
#include "fmd/model/passes.h"

namespace fmd {

PathGap::PathGap(const HeadProblem& problem, const Vector& theta)
    : problem_(problem), theta_(theta) {}

void PathGap::add(const PairSet& pairs, const Exec& exec) {
  const Head& head = *problem_.head;
  if (head.outputs() != 1) return;
  const Vector was = all_logits(head, pairs.c, problem_.theta, exec) -
                     all_logits(head, pairs.cbar, problem_.theta, exec);
  const Vector is =
      all_logits(head, pairs.c, theta_, exec) - all_logits(head, pairs.cbar, theta_, exec);
  const Matrix p = all_probabilities(head, pairs.c, problem_.theta, exec);
  const Matrix pbar = all_probabilities(head, pairs.cbar, problem_.theta, exec);
  for (Index i = 0; i < pairs.size(); ++i) {
    const double slope = was[i] == 0 ? p(i, 0) * p(i, 1) : (p(i, 1) - pbar(i, 1)) / was[i];
    const double weight = pairs.weight[static_cast<std::size_t>(i)];
    before_ += weight * std::abs(slope * was[i]);
    after_ += weight * std::abs(slope * is[i]);
    weight_ += weight;
  }
}

Predicted PathGap::gap() const {
  if (problem_.head->outputs() != 1) return {};
  const double value = after_ / weight_;
  return {.value = value, .change = value - before_ / weight_, .capped = false};
}

Predicted path_gap(const HeadProblem& problem, const Vector& theta, const PairSet& pairs,
                   const Exec& exec) {
  PathGap sum(problem, theta);
  sum.add(pairs, exec);
  return sum.gap();
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
