// Methods that end in a linear head: reweighing and DFR.
#include <fmt/format.h>

#include "baselines/methods.h"
#include "baselines/post_rows.h"
#include "fmd/baselines/dfr.h"
#include "fmd/baselines/reweigh.h"
#include "fmd/fit/train.h"

namespace fmd {
namespace {

BaselineCandidate head_candidate(const BaselineProblem& problem, std::string setting,
                                 Vector theta) {
  return {std::move(setting),
          [head = problem.head, threshold = problem.threshold, theta = std::move(theta)](
              const BaselineRows& asked, const Exec& exec) {
            return head_answers(head, theta, threshold, asked.rows, exec);
          }};
}

// The model trained anew, with these weights of the training entries times those they had.
Vector retrain(const BaselineProblem& problem, const std::vector<float>& entry_weight,
               const Exec& exec) {
  Rows rows = problem.train.rows;
  std::vector<float> weight(at(rows.X->rows()), 0.0F);
  for (Index i = 0; i < rows.size(); ++i)
    weight[at(rows.row(i))] = entry_weight[at(i)] * static_cast<float>(rows.weight_of(i));
  rows.weight = weight;
  return train_linear(problem.head, rows, {.l2 = problem.l2}, exec, problem.theta).theta;
}

}  // namespace

FittedMethod fit_reweigh(const BaselineProblem& problem, const Exec& exec) {
  const Rows& rows = problem.train.rows;
  std::vector<std::int32_t> y, group;
  for (Index i = 0; i < rows.size(); ++i) {
    y.push_back(rows.label(i));
    group.push_back(problem.train.group[at(rows.row(i))]);
  }
  return {
      head_candidate(problem, "", retrain(problem, reweighing_weights(y, group), exec))};
}

FittedMethod fit_influence_reweigh(const BaselineProblem& problem, const Exec& exec) {
  FittedMethod candidates;
  for (const char* fairness : {"equal_opportunity", "demographic_parity"})
    for (const double beta : {0.2, 0.5, 0.8})
      for (const double gamma : {0.0, 0.2}) {
        const InfluenceWeights found =
            influence_weights(problem.head, problem.theta, problem.train.rows,
                              problem.edit.rows, problem.edit.group,
                              {.fairness = fairness,
                               .beta = beta,
                               .gamma = gamma,
                               .l2 = problem.l2,
                               .favorable = problem.favorable},
                              exec);
        candidates.push_back(head_candidate(
            problem, fmt::format("fairness={},beta={:g},gamma={:g}", fairness, beta, gamma),
            retrain(problem, found.weight, exec)));
      }
  return candidates;
}

FittedMethod fit_dfr_method(const BaselineProblem& problem, const Exec& exec) {
  const std::vector<double> C = {1, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01};
  const std::vector<Vector> thetas =
      fit_dfr(problem.head, problem.edit.rows, problem.edit.group, C, 10, exec);
  FittedMethod candidates;
  for (std::size_t k = 0; k < C.size(); ++k)
    candidates.push_back(head_candidate(problem, fmt::format("C={:g}", C[k]), thetas[k]));
  return candidates;
}

}  // namespace fmd
