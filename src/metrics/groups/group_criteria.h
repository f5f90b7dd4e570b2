#pragma once

#include <vector>

#include "fmd/metrics/group.h"
#include "metrics/groups/counted_group.h"

namespace fmd::internal {

// Adds every criterion of two groups: each group against the reference. groups: the
// compared ones, by their number in the report.
void add_criteria(const std::vector<CountedGroup>& counts, const std::vector<int>& groups,
                  const FigureRules& rules, const GroupOptions& options,
                  GroupReport& report);

}  // namespace fmd::internal
