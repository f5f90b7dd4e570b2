// Smoothing on a graph of like rows, in batches.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "baselines/methods.h"
#include "baselines/post_rows.h"
#include "fmd/baselines/smoothing.h"
#include "fmd/core/rng.h"
#include "fmd/fit/train.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/whiten.h"

namespace fmd {
namespace {

constexpr Index kBatch = 1024;  // rows that are smoothed together

std::vector<Index> rows_of(const Rows& rows, Index first, Index count) {
  std::vector<Index> numbers;
  for (Index i = 0; i < count; ++i) numbers.push_back(rows.row(first + i));
  return numbers;
}

// A metric that does not see the attribute: without its own features and without the
// directions in which the others predict it.
FairMetric fair_metric(const BaselineProblem& problem, const Exec& exec) {
  const Rows& rows = problem.edit.rows;
  const auto& own = problem.attribute_features;
  const std::unique_ptr<Features> others = without_columns(*rows.X, own, exec);
  std::vector<Index> known;
  for (Index i = 0; i < rows.size(); ++i)
    if (problem.edit.group[at(rows.row(i))] >= 0) known.push_back(rows.row(i));
  const Index outputs = problem.groups == 2 ? 1 : problem.groups;
  const LinearHead head(others->cols(), outputs);
  const Rows fit{.X = others.get(), .y = problem.edit.group, .weight = {}, .subset = known};
  const Vector theta = train_linear(head, fit, {}, exec).theta;
  Matrix directions(others->cols(), outputs);
  for (Index k = 0; k < outputs; ++k)
    directions.col(k) = theta.segment(k * (others->cols() + 1), others->cols());
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
      // Of several classes the logits against the last one.
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

FittedMethod fit_ppif(const BaselineProblem& problem, const Exec& exec) {
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
          Smoother{problem.head, problem.theta, problem.threshold, metric, options});
      candidates.push_back({fmt::format("lambda={:g},neighbours={:g}", lambda, share),
                            [smoother](const BaselineRows& asked, const Exec& how) {
                              return smoother->answer(asked, how);
                            }});
    }
  }
  return candidates;
}

}  // namespace fmd
