#pragma once

#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/metrics/interval.h"
#include "fmd/model/head_problem.h"
#include "fmd/repair/candidates.h"
#include "fmd/repair/repair_options.h"
#include "fmd/unlearn/candidate.h"

namespace fmd {

// The rule that chooses, for every repair, comparison and experiment. The first step with
// an eligible candidate decides. Among the eligible ones the best by the first entry of
// `order` is taken, ties by the next entries, further ties by position.
struct ChoiceFigures {
  double accuracy = 0, bias = 0;
};
enum class Prefer { accuracy, less_bias };
struct RuleStep {
  std::vector<bool> eligible;  // per candidate
  std::vector<Prefer> order;
};
// Position of the chosen one; -1: no step has an eligible candidate.
[[nodiscard]] int choose(std::span<const ChoiceFigures> candidates,
                         std::span<const RuleStep> rule);

// How sure the figures of candidates must be.
struct IntervalOptions {
  double confidence = 0.95;
  Index replicates = 1000;
};

// Accuracy and bias of every candidate on the hold-out, paired with the original. These
// figures serve the choice. The problem has no folds here. The report's figures come from
// test rows where these are given; otherwise the report says that its rows were also used
// for the choice.
void measure_candidates(const HeadProblem& problem, const RepairOptions& options,
                        const IntervalOptions& intervals, const Exec& exec,
                        std::vector<Candidate>& candidates);

// The rule of a repair: the candidate that `at` names; with a target the most accurate one
// that lowers the bias and passes; otherwise the least biased one that lowers it and is
// proven to lose at most max_accuracy_loss. Where none is proven, the least biased one
// whose point estimate keeps the budget, except with `strict`. With best_effort, where
// there is none, the least biased of all. -1 when there is none.
[[nodiscard]] int choose(const std::vector<Candidate>& candidates,
                         const RepairOptions& options);

[[nodiscard]] Budget budget_of(const Candidate& candidate, const RepairOptions& options);

// A repair: candidates are made, measured and one is chosen.
struct RepairChoice {
  // With folds, networks and heads on dense features with very many pairs have only the
  // candidates that were measured: at most 8 lambdas along the grid, and those around the
  // choice.
  Candidates candidates;
  int chosen = -1;
  std::vector<Vector> without_fold;  // the chosen setting, fitted without each fold
  // The original's bias for each repaired attribute, where none is over
  // RepairOptions::only_if_over. There are no candidates then.
  std::vector<Interval> small_bias = {};
};
// Throws what make_candidates() throws.
[[nodiscard]] RepairChoice choose_repair(const HeadProblem& problem,
                                         const RepairOptions& options,
                                         const IntervalOptions& intervals,
                                         const Exec& exec);

[[nodiscard]] std::string rule_in_words(const RepairOptions& options, bool matched);

// Are the repaired attributes matched? Throws Error(bad_option) where some are and some are
// not, and for a method or a target that matched pairs do not have.
[[nodiscard]] bool repairs_matched(const HeadProblem& problem,
                                   const RepairOptions& options);

// The measure that decides the choice: for matched pairs kOddsMeasure; otherwise that of
// the target, or co without a target.
inline constexpr const char* kOddsMeasure = "equalized_odds_soft";
[[nodiscard]] std::string chosen_measure(const RepairOptions& options, bool matched);

}  // namespace fmd
