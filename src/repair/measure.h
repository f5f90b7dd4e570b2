#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/repair/choice.h"
#include "repair/cross_fit.h"

namespace fmd::internal {

// Gaps of the pairs from one value of an attribute to another one.
struct CellGaps {
  double pairs = 0, sum = 0, square = 0;
};

// What the choice needs to know about every row: whether it is answered correctly, and the
// chosen gap of each unit for every repaired attribute. On matched pairs the favourable
// score of each row stands in place of the gap.
struct ChoiceAnswers {
  Vector correct;
  std::vector<Vector> gaps;
  Vector flips;  // group gaps: the mean flip gap of every repaired attribute
  // Target co of an attribute with more than two values: from value * values + to value.
  std::vector<std::vector<CellGaps>> cells = {};  // per repaired attribute
  double log_loss = kUndefined;
};

// Of theta on the hold-out.
[[nodiscard]] ChoiceAnswers answers(const HeadProblem& problem, const Vector& theta,
                                    const std::string& measure, const Exec& exec);
// The same of each theta: rows are read once for all where that is possible.
[[nodiscard]] std::vector<ChoiceAnswers> answers_of_each(
    const HeadProblem& problem, std::span<const Vector* const> thetas,
    const std::string& measure, const Exec& exec);
// Of candidates on all edit rows, each fold answered by what was fitted without it.
[[nodiscard]] std::vector<ChoiceAnswers> answers(const HeadProblem& problem,
                                                 const CrossFit& fit,
                                                 std::span<const std::size_t> candidates,
                                                 const std::string& measure,
                                                 const Exec& exec);

// Of what was fitted without each fold.
[[nodiscard]] ChoiceAnswers answers(const HeadProblem& problem,
                                    std::span<const FoldProblem* const> folds,
                                    std::span<const Vector> theta,
                                    const std::string& measure, const Exec& exec);

// The candidates' figures from their answers, paired with those before.
void add_figures(const HeadProblem& problem, const RepairOptions& options,
                 const IntervalOptions& intervals, const ChoiceAnswers& before,
                 const std::vector<ChoiceAnswers>& after, const Exec& exec,
                 std::vector<Candidate>& candidates);

}  // namespace fmd::internal
