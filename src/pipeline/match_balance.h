#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/pipeline/match_plan.h"

namespace fmd::internal {

// One line for every column, and for every level of a category. It compares two of the
// matched groups: the reference (or the largest group), and the group that is furthest
// from it before matching.
[[nodiscard]] std::vector<BalanceLine> balance(const MatchPlan& plan,
                                               const MatchInput& input);

}  // namespace fmd::internal
