#pragma once

#include <vector>

#include "fmd/metrics/group.h"
#include "metrics/groups/counted_group.h"

namespace fmd::internal {

// Adds p-values to the comparisons that are computed from counts. All criteria that
// exchange the same rows are measured on the same permutations. Not for sums of weights:
// only rows can change places.
void add_permutations(const std::vector<CountedGroup>& counts, const FigureRules& rules,
                      Index permutations, const Exec& exec, GroupReport& report);

}  // namespace fmd::internal
