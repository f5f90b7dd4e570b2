#include "fmd/repair/controls.h"

#include <algorithm>
#include <numeric>

#include "fmd/fit/train.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve.h"
#include "repair/network_candidates.h"

namespace fmd {

Tempered tempered(const HeadProblem& problem, const HeadPart& part, const Exec& exec) {
  const double T = best_temperature(*problem.head, problem.theta, part.rows, exec);
  return {T, temper(*problem.head, problem.theta, T)};
}

Vector shifted(const HeadProblem& problem, const Vector& theta, const HeadPart& part,
               double rate, const Exec& exec) {
  return shift_to_rate(*problem.head, theta, part.rows, problem.threshold,
                       problem.favorable, rate, exec);
}

double favorable_rate(const HeadProblem& problem, const Vector& theta, const HeadPart& part,
                      const Exec& exec) {
  const std::vector<std::int32_t> decision =
      decide(all_probabilities(*problem.head, part.rows, theta, exec), problem.threshold);
  const auto yes = std::count(decision.begin(), decision.end(), problem.favorable);
  return static_cast<double>(yes) / static_cast<double>(decision.size());
}

double favorable_labels(const HeadProblem& problem, const HeadPart& part) {
  double yes = 0;
  for (Index i = 0; i < part.rows.size(); ++i)
    yes += part.rows.label(i) == problem.favorable ? 1 : 0;
  return yes / static_cast<double>(part.rows.size());
}

Vector column_averaged(const HeadProblem& problem, const Exec& exec) {
  return average_features(*problem.head, problem.theta, problem.edit.rows,
                          problem.attribute_features.value(), exec);
}

Vector fine_tuned(const HeadProblem& problem, const Exec& exec) {
  const SolveOptions how{.anchor = 0, .fit = 1, .lambda = 0, .mu = problem.l2, .gaps = {}};
  const std::vector<PairSet>& sets = problem.edit.pairs;
  if (problem.head->linear())
    return solve(*problem.head, problem.theta, problem.edit.rows, sets, how, exec).theta;
  return solve_adam(*problem.head, problem.theta, problem.edit.rows, sets, how,
                    adam_options(sets), problem.redraw, exec)
      .theta;
}

Vector retrained_without(const HeadProblem& problem, const Exec& exec) {
  const Rows& rows = problem.train->rows;
  FeaturePatch nothing;
  nothing.entries.resize(1);
  for (const Index f : *problem.attribute_features) nothing.columns.push_back({f, f + 1});
  std::vector<Index> all(static_cast<std::size_t>(rows.X->rows()));
  std::iota(all.begin(), all.end(), Index{0});
  const std::vector<std::int32_t> to(all.size(), 0);
  const std::unique_ptr<Features> X = make_patched(*rows.X, all, nothing, to);
  const Rows without{.X = X.get(), .y = rows.y, .weight = rows.weight, .subset = {}};
  const LinearHead& head = *problem.head->as_linear();
  Vector theta = train_linear(head, without, {.l2 = problem.l2}, exec).theta;
  for (Index k = 0; k < head.outputs(); ++k)
    for (const Index f : *problem.attribute_features)
      if (const Index place = head.weight(k, f); place >= 0) theta[place] = 0;
  return theta;
}

}  // namespace fmd
