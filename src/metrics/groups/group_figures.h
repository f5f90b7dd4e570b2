#pragma once

#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/metrics/group.h"

namespace fmd::internal {

// Fills the rates of the groups and adds the measures by name to a report that has its
// groups and its reference.
void add_figures(const Tally& tally, std::span<const Index> attributes,
                 const std::vector<GroupTally>& tallies, const GroupOptions& options,
                 const Exec& exec, GroupReport& report);

}  // namespace fmd::internal
