#pragma once

#include <vector>

#include "fmd/metrics/group.h"
#include "metrics/groups/counted_group.h"

namespace fmd::internal {

// The names of the figures of all compared groups together, in their order.
inline constexpr const char* kCommonFigures[] = {
    "differential_fairness", "bias_amplification",   "subgroup_selection",
    "subgroup_fpr",          "generalized_entropy",  "between_group_entropy",
    "theil_index",           "worst_cell_accuracy",  "unbiased_accuracy",
    "aligned_accuracy",      "conflicting_accuracy", "aligned_gap"};

// Adds these figures. groups: the compared ones, by their number in the report.
void add_common_figures(const std::vector<GroupTally>& tallies,
                        const std::vector<CountedGroup>& counts,
                        const std::vector<int>& groups, const FigureRules& rules,
                        const GroupOptions& options, GroupReport& report);

}  // namespace fmd::internal
