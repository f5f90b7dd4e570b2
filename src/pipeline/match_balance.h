#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/pipeline/match_plan.h"

namespace fmd::internal {

// Every column (of a category: every level) of the groups that were matched: the value
// that is compared against, or the largest group, and the other one that is furthest from
// it before matching.
[[nodiscard]] std::vector<BalanceLine> balance(const MatchPlan& plan,
                                               const MatchInput& input);

}  // namespace fmd::internal
