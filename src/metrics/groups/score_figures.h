#pragma once

#include <vector>

#include "fmd/metrics/group.h"
#include "metrics/groups/counted_group.h"

namespace fmd::internal {

// The names of the comparisons of scores, in their order.
inline constexpr const char* kScoreFigures[] = {"auc_difference", "abroca", "ks_distance"};

// Adds the figures that need the order of scores: score metrics to the groups, comparisons
// to the measures. They come from the rows while the tally keeps these, otherwise from the
// histograms. Their spread comes from a coarse histogram: it moves values a little, but not
// how much they vary. groups: the compared ones, by their number in the report.
void add_score_figures(const Tally& tally, std::span<const Index> attributes,
                       const std::vector<GroupTally>& tallies,
                       const std::vector<int>& groups, const FigureRules& rules,
                       const GroupOptions& options, const Exec& exec, GroupReport& report);

}  // namespace fmd::internal
