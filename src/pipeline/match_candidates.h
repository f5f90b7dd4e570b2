#pragma once

#include <string>

#include "pipeline/candidates.h"

namespace fmd::internal {

// Consistency between matched pairs would remove what makes two persons different, and it
// hardly changes the gap. So matched pairs have another repair: it fits the labels of all
// edit rows, with the same total weight for every cell of label x attribute, + mu/2
// |theta - theta0|^2 + gamma (TPR gap^2 + FPR gap^2) on soft scores. The candidates are a
// grid of mu and gamma. Throws Error(bad_data: a cell of label x value is empty;
// bad_option: no favourable class).
[[nodiscard]] Candidates match_candidates(const CandidateInput& input,
                                          const DebiasOptions& options, const Exec& exec);

// Are the repaired attributes matched? Throws Error(bad_option) where some are and some are
// not, and for a method or a target that matched pairs do not have.
[[nodiscard]] bool repairs_matched(const StudyPart& part, const Task& task,
                                   const DebiasOptions& options);

// The measure that decides the choice: for matched pairs kOddsMeasure; otherwise that of
// the target, or co without a target.
inline constexpr const char* kOddsMeasure = "equalized_odds_soft";
[[nodiscard]] std::string chosen_measure(const DebiasOptions& options, bool matched);

// The attribute's values with at least min_rows rows, numbered from 0; others -1.
struct LargeGroups {
  std::vector<std::int32_t> code;
  Index count = 0;
};
[[nodiscard]] LargeGroups large_groups(const Attribute& attribute, Index min_rows);

}  // namespace fmd::internal
