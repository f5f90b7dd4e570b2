// Methods that change the trained model's answers.
#include <fmt/format.h>

#include "baselines/methods.h"
#include "baselines/post_rows.h"
#include "fmd/baselines/postprocess.h"
#include "fmd/baselines/smoothing.h"
#include "fmd/fit/train.h"

namespace fmd {
namespace {

// The trained model's favourable scores: what post-processing looks at.
struct Base {
  LinearHead head;
  Vector theta;
  double threshold;
  int favorable;

  explicit Base(const BaselineProblem& p)
      : head(p.head), theta(p.theta), threshold(p.threshold), favorable(p.favorable) {}

  // Favourable at score >= this; where class 0 is favourable, p0 > 1 - threshold.
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

PostRows post_rows(const Base& base, const BaselineRows& asked, const Matrix& p) {
  PostRows rows;
  for (Index i = 0; i < asked.rows.size(); ++i) {
    rows.score.push_back(p(i, base.favorable));
    rows.favorable.push_back(asked.rows.label(i) == base.favorable ? 1 : 0);
    rows.group.push_back(asked.group[at(asked.rows.row(i))]);
  }
  return rows;
}

// Answers from yes(p, i, group), the probability of a favourable answer.
template <typename Yes>
Answers by_group(const Base& base, const BaselineRows& asked, const Exec& exec,
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

// The group that the trained model answers favourably more often.
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

struct Fitting {
  Base base;
  PostRows rows;
  std::vector<std::uint8_t> decided;

  Fitting(const BaselineProblem& problem, const Exec& exec) : base(problem) {
    const Matrix p = base.probabilities(problem.edit.rows, exec);
    rows = post_rows(base, problem.edit, p);
    for (Index i = 0; i < p.rows(); ++i) decided.push_back(base.decided(p, i) ? 1 : 0);
  }
};

}  // namespace

FittedMethod fit_eqodd(const BaselineProblem& problem, const Exec& exec) {
  const Fitting f(problem, exec);
  const EqualizedOdds found = fit_equalized_odds(f.rows, f.decided);
  return {{"", [base = f.base, found](const BaselineRows& asked, const Exec& how) {
             return by_group(base, asked, how,
                             [&](const Matrix& p, Index i, std::int32_t g) {
                               return found.yes(base.decided(p, i), g);
                             });
           }}};
}

FittedMethod fit_ceqodd(const BaselineProblem& problem, const Exec& exec) {
  const Fitting f(problem, exec);
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

FittedMethod fit_reject(const BaselineProblem& problem, const Exec& exec) {
  const Fitting f(problem, exec);
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

FittedMethod fit_thresholds(const BaselineProblem& problem, const Exec& exec) {
  const Fitting f(problem, exec);
  FittedMethod candidates;
  for (const char* criterion : {"demographic_parity", "equal_opportunity", "accuracy"}) {
    const GroupThresholds found = fit_group_thresholds(f.rows, problem.groups, criterion,
                                                       f.base.favorable_threshold());
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

}  // namespace fmd
