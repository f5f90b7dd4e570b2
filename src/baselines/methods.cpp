#include "baselines/methods.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "baselines/post_rows.h"
#include "core/index.h"
#include "fmd/baselines/dfr.h"
#include "fmd/baselines/postprocess.h"
#include "fmd/baselines/reweigh.h"
#include "fmd/baselines/smoothing.h"
#include "fmd/fit/train.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "fmd/model/whiten.h"
#include "fmd/model/without_columns.h"

namespace fmd::internal {

Matrix one_hot(const std::vector<std::int32_t>& decision, Index classes) {
  Matrix out = Matrix::Zero(std::ssize(decision), classes);
  for (Index i = 0; i < out.rows(); ++i) out(i, decision[static_cast<std::size_t>(i)]) = 1;
  return out;
}

// ---- Methods that end in a linear head: reweighing and DFR

namespace {

const LinearHead& head_of(const HeadProblem& problem) { return *problem.head->as_linear(); }

std::span<const std::int32_t> group_of(const HeadProblem& problem, const HeadPart& part) {
  return problem.group(part, 0).code;
}

Index groups_of(const HeadProblem& problem) {
  return problem.group(problem.edit, 0).values;
}

BaselineCandidate head_candidate(const HeadProblem& problem, std::string setting,
                                 Vector theta) {
  return {std::move(setting),
          [head = head_of(problem), threshold = problem.threshold,
           theta = std::move(theta)](const BaselineRows& asked, const Exec& exec) {
            return head_answers(head, theta, threshold, asked.rows, exec);
          }};
}

// The model trained again. Each weight of a training entry is multiplied by the given one.
Vector retrain(const HeadProblem& problem, const std::vector<float>& entry_weight,
               const Exec& exec) {
  Rows rows = problem.train->rows;
  std::vector<float> weight(at(rows.X->rows()), 0.0F);
  for (Index i = 0; i < rows.size(); ++i)
    weight[at(rows.row(i))] = entry_weight[at(i)] * static_cast<float>(rows.weight_of(i));
  rows.weight = weight;
  return train_linear(head_of(problem), rows, {.l2 = problem.l2}, exec, problem.theta)
      .theta;
}

}  // namespace

FittedMethod fit_reweigh(const HeadProblem& problem, const Exec& exec) {
  const Rows& rows = problem.train->rows;
  std::vector<std::int32_t> y, group;
  for (Index i = 0; i < rows.size(); ++i) {
    y.push_back(rows.label(i));
    group.push_back(group_of(problem, *problem.train)[at(rows.row(i))]);
  }
  return {
      head_candidate(problem, "", retrain(problem, reweighing_weights(y, group), exec))};
}

FittedMethod fit_influence_reweigh(const HeadProblem& problem, const Exec& exec) {
  FittedMethod candidates;
  for (const char* fairness : {"equal_opportunity", "demographic_parity"})
    for (const double beta : {0.2, 0.5, 0.8})
      for (const double gamma : {0.0, 0.2}) {
        const InfluenceWeights found =
            influence_weights(head_of(problem), problem.theta, problem.train->rows,
                              problem.edit.rows, group_of(problem, problem.edit),
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

FittedMethod fit_dfr_method(const HeadProblem& problem, const Exec& exec) {
  const std::vector<double> C = {1, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01};
  const std::vector<Vector> thetas = fit_dfr(head_of(problem), problem.edit.rows,
                                             group_of(problem, problem.edit), C, 10, exec);
  FittedMethod candidates;
  for (std::size_t k = 0; k < C.size(); ++k)
    candidates.push_back(head_candidate(problem, fmt::format("C={:g}", C[k]), thetas[k]));
  return candidates;
}

// ---- Methods that change the trained model's answers by group

namespace {

// The trained model, as post-processing sees it.
struct TrainedModel {
  LinearHead head;
  Vector theta;
  double threshold;
  int favorable;

  explicit TrainedModel(const HeadProblem& p)
      : head(head_of(p)), theta(p.theta), threshold(p.threshold), favorable(p.favorable) {}

  // Whether the decision is favourable. It is at p1 >= threshold where class 1 is
  // favourable, and at p0 > 1 - threshold where class 0 is.
  [[nodiscard]] bool decided(const Matrix& p, Index i) const {
    return (p(i, 1) >= threshold ? 1 : 0) == favorable;
  }
  [[nodiscard]] double favorable_threshold() const {
    return favorable == 1 ? threshold : 1 - threshold;
  }
  [[nodiscard]] Matrix probabilities(const Rows& rows, const Exec& exec) const {
    return all_probabilities(head, rows, theta, exec);
  }
};

PostRows post_rows(const TrainedModel& base, const BaselineRows& asked, const Matrix& p) {
  PostRows rows;
  for (Index i = 0; i < asked.rows.size(); ++i) {
    rows.score.push_back(p(i, base.favorable));
    rows.favorable.push_back(asked.rows.label(i) == base.favorable ? 1 : 0);
    rows.group.push_back(asked.group[at(asked.rows.row(i))]);
  }
  return rows;
}

// Answers from yes(p, i, group), which is the probability of a favourable answer.
template <typename Yes>
Answers by_group(const TrainedModel& base, const BaselineRows& asked, const Exec& exec,
                 const Yes& yes) {
  const Matrix p = base.probabilities(asked.rows, exec);
  Answers answers;
  answers.decision.resize(p.rows(), 2);
  for (Index i = 0; i < p.rows(); ++i) {
    const double y = yes(p, i, asked.group[at(asked.rows.row(i))]);
    answers.decision(i, base.favorable) = y;
    answers.decision(i, 1 - base.favorable) = 1 - y;
  }
  answers.p = answers.decision;
  return answers;
}

// The group that gets more favourable answers from the trained model.
int favored_group(const PostRows& rows, const std::vector<std::uint8_t>& decided) {
  double yes[2] = {0, 0}, n[2] = {0, 0};
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t g = rows.group[at(i)];
    if (g < 0) continue;
    n[g] += 1;
    yes[g] += decided[at(i)];
  }
  return yes[0] * n[1] > yes[1] * n[0] ? 0 : 1;
}

struct PostFitting {
  TrainedModel base;
  PostRows rows;
  std::vector<std::uint8_t> decided;

  PostFitting(const HeadProblem& problem, const Exec& exec) : base(problem) {
    const Matrix p = base.probabilities(problem.edit.rows, exec);
    rows = post_rows(base, {problem.edit.rows, group_of(problem, problem.edit)}, p);
    for (Index i = 0; i < p.rows(); ++i) decided.push_back(base.decided(p, i) ? 1 : 0);
  }
};

}  // namespace

FittedMethod fit_eqodd(const HeadProblem& problem, const Exec& exec) {
  const PostFitting f(problem, exec);
  const EqualizedOdds found = fit_equalized_odds(f.rows, f.decided);
  return {{"", [base = f.base, found](const BaselineRows& asked, const Exec& how) {
             return by_group(base, asked, how,
                             [&](const Matrix& p, Index i, std::int32_t g) {
                               return found.yes(base.decided(p, i), g);
                             });
           }}};
}

FittedMethod fit_ceqodd(const HeadProblem& problem, const Exec& exec) {
  const PostFitting f(problem, exec);
  FittedMethod candidates;
  for (const char* cost : {"weighted", "fpr", "fnr"}) {
    const CalibratedOdds found = fit_calibrated_odds(f.rows, cost);
    candidates.push_back(
        {fmt::format("cost={}", cost),
         [base = f.base, found](const BaselineRows& asked, const Exec& how) {
           Matrix scores(asked.rows.size(), 2);
           Answers answers =
               by_group(base, asked, how, [&](const Matrix& p, Index i, std::int32_t g) {
                 const double s = found.score(p(i, base.favorable), g);
                 scores(i, base.favorable) = s;
                 scores(i, 1 - base.favorable) = 1 - s;
                 return found.yes(p(i, base.favorable), g, base.favorable_threshold());
               });
           answers.p = std::move(scores);
           return answers;
         }});
  }
  return candidates;
}

FittedMethod fit_reject(const HeadProblem& problem, const Exec& exec) {
  const PostFitting f(problem, exec);
  const int privileged = favored_group(f.rows, f.decided);
  FittedMethod candidates;
  for (const char* metric : {"statistical_parity", "average_odds", "equal_opportunity"})
    for (const double bound : {0.01, 0.05, 0.1}) {
      const RejectOption found = fit_reject_option(
          f.rows,
          {.metric = metric, .lower = -bound, .upper = bound, .privileged = privileged});
      candidates.push_back(
          {fmt::format("metric={},bound={:g}", metric, bound),
           [base = f.base, found](const BaselineRows& asked, const Exec& how) {
             return by_group(base, asked, how,
                             [&](const Matrix& p, Index i, std::int32_t g) {
                               return found.yes(p(i, base.favorable), g) ? 1.0 : 0.0;
                             });
           }});
    }
  return candidates;
}

FittedMethod fit_thresholds(const HeadProblem& problem, const Exec& exec) {
  const PostFitting f(problem, exec);
  FittedMethod candidates;
  for (const char* criterion : {"demographic_parity", "equal_opportunity", "accuracy"}) {
    const GroupThresholds found = fit_group_thresholds(
        f.rows, groups_of(problem), criterion, f.base.favorable_threshold());
    candidates.push_back(
        {fmt::format("criterion={}", criterion),
         [base = f.base, found](const BaselineRows& asked, const Exec& how) {
           return by_group(base, asked, how, [&](const Matrix& p, Index i, std::int32_t g) {
             return found.yes(p(i, base.favorable), g) ? 1.0 : 0.0;
           });
         }});
  }
  return candidates;
}

// ---- Smoothing on a graph of like rows, in batches

namespace {

constexpr Index kBatch = 1024;  // rows that are smoothed together

std::vector<Index> rows_of(const Rows& rows, Index first, Index count) {
  std::vector<Index> numbers;
  for (Index i = 0; i < count; ++i) numbers.push_back(rows.row(first + i));
  return numbers;
}

// A metric that does not see the attribute: without the features of the attribute, and
// without the directions in which the other features predict it.
FairMetric fair_metric(const HeadProblem& problem, const Exec& exec) {
  const Rows& rows = problem.edit.rows;
  const std::vector<Index> own = problem.attribute_features.value_or(std::vector<Index>{});
  const std::unique_ptr<Features> others = without_columns(*rows.X, own, exec);
  std::vector<Index> known;
  for (Index i = 0; i < rows.size(); ++i)
    if (group_of(problem, problem.edit)[at(rows.row(i))] >= 0) known.push_back(rows.row(i));
  const Index outputs = groups_of(problem) == 2 ? 1 : groups_of(problem);
  const LinearHead head(others->cols(), outputs);
  const Rows fit{.X = others.get(),
                 .y = group_of(problem, problem.edit),
                 .weight = {},
                 .subset = known};
  const Vector theta = train_linear(head, fit, {}, exec).theta;
  const Matrix directions = head.W(theta).transpose();
  return FairMetric(rows.X->cols(), own, directions);
}

struct Smoother {
  LinearHead head;
  Vector theta;
  double threshold;
  FairMetric metric;
  SmoothingOptions options;

  [[nodiscard]] Answers answer(const BaselineRows& asked, const Exec& exec) const {
    const Rows& rows = asked.rows;
    Matrix z = all_logits(head, rows, theta, exec);
    const Index n = z.rows(), batches = (n + kBatch - 1) / kBatch;
    exec.for_each(batches, [&](Index b) {
      const Index first = b * kBatch, count = std::min(kBatch, n - first);
      const std::vector<Index> numbers = rows_of(rows, first, count);
      Matrix part = z.middleRows(first, count);
      // With several classes, the logits minus that of the last class.
      if (part.cols() > 1) part.colwise() -= Vector(part.col(part.cols() - 1));
      z.middleRows(first, count) =
          smooth(part, metric.coordinates(*rows.X, numbers), options);
    });
    Answers answers;
    answers.p.resize(n, classes_of(z.cols()));
    for (Index i = 0; i < n; ++i)
      probabilities({z.data() + i * z.cols(), at(z.cols())},
                    {answers.p.data() + i * answers.p.cols(), at(answers.p.cols())});
    answers.decision = one_hot(decide(answers.p, threshold), answers.p.cols());
    return answers;
  }
};

}  // namespace

FittedMethod fit_ppif(const HeadProblem& problem, const Exec& exec) {
  const FairMetric metric = fair_metric(problem, exec);
  const Index probe = std::min(kBatch, problem.edit.rows.size());
  const Matrix A =
      metric.coordinates(*problem.edit.rows.X, rows_of(problem.edit.rows, 0, probe));
  FittedMethod candidates;
  for (const double share : {0.01, 0.1}) {
    const double tau = distance_quantile(A, share);
    for (const double lambda : {0.1, 1.0, 10.0}) {
      const SmoothingOptions options{
          .lambda = lambda, .theta = tau > 0 ? 1 / tau : 0, .tau = tau};
      const auto smoother = std::make_shared<const Smoother>(
          Smoother{head_of(problem), problem.theta, problem.threshold, metric, options});
      candidates.push_back({fmt::format("lambda={:g},neighbours={:g}", lambda, share),
                            [smoother](const BaselineRows& asked, const Exec& how) {
                              return smoother->answer(asked, how);
                            }});
    }
  }
  return candidates;
}

}  // namespace fmd::internal
