#include "fmd/repair/choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/metrics/head_scores.h"
#include "repair/odds.h"

namespace fmd {
namespace {

// Whether each row is answered correctly, and the chosen gap of each unit for every
// repaired attribute. On matched pairs the favourable score of each row stands in place
// of the gap.
struct OnHoldout {
  Vector correct;
  std::vector<Vector> gaps;
  double log_loss = kUndefined;
};

OnHoldout measure(const HeadProblem& problem, const Vector& theta, const std::string& name,
                  const Exec& exec) {
  const HeadPart& part = problem.holdout;
  const Scored scored = score_rows(*problem.head, theta, part.rows, problem.threshold,
                                   problem.favorable, exec);
  OnHoldout out;
  out.correct.resize(scored.rows());
  for (Index i = 0; i < scored.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.correct[i] = scored.decision[at] == scored.y[at] ? 1 : 0;
  }
  out.log_loss = log_loss(scored);
  for (const PairSet& pairs : part.pairs)
    out.gaps.push_back(
        name == kOddsMeasure
            ? Vector(scored.p.col(scored.favorable))
            : unit_gaps(score_pairs(*problem.head, theta, pairs, problem.threshold, exec),
                        name));
  return out;
}

Interval mean_interval(const Vector& column, const Matrix& sums, Index at,
                       double confidence) {
  const double n = static_cast<double>(column.size());
  std::vector<double> replicates(static_cast<std::size_t>(sums.rows()));
  for (Index r = 0; r < sums.rows(); ++r)
    replicates[static_cast<std::size_t>(r)] = sums(r, at) / n;
  return percentile(column.mean(), std::move(replicates), confidence);
}

// Value of each candidate's column, and its paired change against the original's. One
// bootstrap serves all candidates, so that they are compared on the same draws.
CandidateIntervals bootstrap_columns(const Vector& before, const std::vector<Vector>& after,
                                     const IntervalOptions& options, const Exec& exec) {
  const Index count = static_cast<Index>(after.size());
  Matrix statistics(before.size(), 2 * count);
  for (Index k = 0; k < count; ++k) {
    statistics.col(2 * k) = after[static_cast<std::size_t>(k)];
    statistics.col(2 * k + 1) = after[static_cast<std::size_t>(k)] - before;
  }
  const Matrix sums = bootstrap_sums(statistics, options.replicates, exec);
  CandidateIntervals out;
  for (Index k = 0; k < count; ++k) {
    out.value.push_back(
        mean_interval(statistics.col(2 * k), sums, 2 * k, options.confidence));
    out.change.push_back(
        mean_interval(statistics.col(2 * k + 1), sums, 2 * k + 1, options.confidence));
  }
  return out;
}

double mean_bias(const Candidate& candidate) {
  double sum = 0;
  for (const Interval& bias : candidate.bias) sum += bias.value;
  return sum / static_cast<double>(candidate.bias.size());
}

Verdict judge_target(const Candidate& candidate, const HeadProblem& problem,
                     const Limit& target) {
  Verdict verdict = Verdict::pass;
  for (std::size_t k = 0; k < problem.repaired.size(); ++k) {
    const std::string& name = problem.group(problem.holdout, k).name;
    if (!target.attribute.empty() && target.attribute != name) continue;
    const Verdict one = judge(candidate.bias[k], target.value);
    if (one == Verdict::fail) verdict = Verdict::fail;
    if (one == Verdict::unclear && verdict == Verdict::pass) verdict = Verdict::unclear;
  }
  return verdict;
}

bool is_at(const Candidate& candidate, const CandidateAt& at) {
  return (!at.lambda || candidate.lambda == *at.lambda) &&
         (!at.s || candidate.s == *at.s) && (!at.rows || candidate.K == *at.rows) &&
         (!at.gamma || candidate.gamma == *at.gamma) && (!at.mu || candidate.mu == *at.mu);
}

// -1: a is worse, 1: a is better, 0: equal by all entries of the order.
int compare_figures(const ChoiceFigures& a, const ChoiceFigures& b,
                    const std::vector<Prefer>& order) {
  for (const Prefer prefer : order) {
    const double gain =
        prefer == Prefer::accuracy ? a.accuracy - b.accuracy : b.bias - a.bias;
    if (gain > 0) return 1;
    if (gain < 0) return -1;
  }
  return 0;
}

}  // namespace

int choose(std::span<const ChoiceFigures> candidates, std::span<const RuleStep> rule) {
  for (const RuleStep& step : rule) {
    int chosen = -1;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (!step.eligible[k]) continue;
      if (chosen < 0 ||
          compare_figures(candidates[k], candidates[static_cast<std::size_t>(chosen)],
                          step.order) > 0)
        chosen = static_cast<int>(k);
    }
    if (chosen >= 0) return chosen;
  }
  return -1;
}

void measure_candidates(const HeadProblem& problem, const RepairOptions& options,
                        const IntervalOptions& intervals, const Exec& exec,
                        std::vector<Candidate>& candidates) {
  const bool matched = repairs_matched(problem, options);
  const std::string name = chosen_measure(options, matched);
  const OnHoldout before = measure(problem, problem.theta, name, exec);
  std::vector<Vector> correct;
  std::vector<std::vector<Vector>> gaps(problem.repaired.size());
  for (Candidate& candidate : candidates) {
    OnHoldout after = measure(problem, candidate.theta, name, exec);
    candidate.log_loss = after.log_loss;
    correct.push_back(std::move(after.correct));
    for (std::size_t a = 0; a < gaps.size(); ++a)
      gaps[a].push_back(std::move(after.gaps[a]));
  }
  const CandidateIntervals accuracy =
      bootstrap_columns(before.correct, correct, intervals, exec);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    candidates[k].accuracy = accuracy.value[k];
    candidates[k].accuracy_change = accuracy.change[k];
    candidates[k].lowers_bias = true;
  }
  for (std::size_t a = 0; a < gaps.size(); ++a) {
    const CandidateIntervals bias =
        matched ? odds_intervals(problem, a, before.gaps[a], gaps[a], intervals, exec)
                : bootstrap_columns(before.gaps[a], gaps[a], intervals, exec);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      candidates[k].bias.push_back(bias.value[k]);
      candidates[k].bias_change.push_back(bias.change[k]);
      if (!(bias.change[k].high < 0)) candidates[k].lowers_bias = false;
    }
  }
  if (!options.target) return;
  for (Candidate& candidate : candidates)
    candidate.target = judge_target(candidate, problem, *options.target);
}

int choose(const std::vector<Candidate>& candidates, const RepairOptions& options) {
  RuleStep step, any;
  std::vector<ChoiceFigures> figures;
  for (const Candidate& one : candidates) {
    figures.push_back({one.accuracy.value, mean_bias(one)});
    any.eligible.push_back(true);
    step.eligible.push_back(options.at.any()
                                ? is_at(one, options.at)
                                : one.lowers_bias &&
                                      (options.target ? one.target == Verdict::pass
                                                      : one.accuracy_change.value >=
                                                            -options.max_accuracy_loss));
  }
  any.order = step.order = {Prefer::less_bias};
  if (options.target && !options.at.any())
    step.order = {Prefer::accuracy, Prefer::less_bias};
  std::vector<RuleStep> rule = {std::move(step)};
  if (options.best_effort && !options.at.any()) rule.push_back(std::move(any));
  return choose(figures, rule);
}

std::string rule_in_words(const RepairOptions& options, bool matched) {
  if (options.at.any()) return to_string(options.at) + " as asked for";
  if (options.target)
    return fmt::format("most accuracy with {}", to_string(*options.target));
  return fmt::format("least {} for at most {:g} {} of accuracy",
                     matched ? "gap of soft odds" : "flip gap",
                     100 * options.max_accuracy_loss,
                     options.max_accuracy_loss == 0.01 ? "point" : "points");
}

std::string chosen_measure(const RepairOptions& options, bool matched) {
  if (options.target) return options.target->measure;
  return matched ? kOddsMeasure : "co";
}

bool repairs_matched(const HeadProblem& problem, const RepairOptions& options) {
  const auto matched = static_cast<std::size_t>(
      std::count_if(problem.repaired.begin(), problem.repaired.end(),
                    [](const RepairedAttribute& a) { return a.kind == PairKind::match; }));
  const bool odds = chosen_measure(options, matched > 0) == kOddsMeasure;
  if (matched == 0) {
    require_option(!odds, "debias", "target", kOddsMeasure,
                   "co, co_tv or flip_rate where pairs are not matched");
    require_option(!options.at.gamma && !options.at.mu, "debias", "at",
                   to_string(options.at), "lambda, s or K where pairs are not matched");
    return false;
  }
  if (matched < problem.repaired.size()) {
    throw Error(ErrorKind::bad_option,
                "debias: some of the attributes are matched and some are not",
                "repair them one after the other: --attribute NAME");
  }
  require_option(options.method == RepairMethod::solve, "debias", "method",
                 to_string(options.method), "solve on matched pairs");
  require_option(odds, "debias", "target", options.target ? options.target->measure : "",
                 "equalized_odds_soft on matched pairs");
  require_option(options.gaps.empty(), "debias", "gap", "given",
                 "left out on matched pairs: their own gaps are penalised");
  require_option(!options.at.lambda, "debias", "at", to_string(options.at),
                 "gamma=X,mu=Y on matched pairs");
  return true;
}

}  // namespace fmd
