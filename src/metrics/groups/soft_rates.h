#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/groups/group_rates.h"

namespace fmd::internal {

// Mean score of the favourable class: of all rows, and of rows with a favourable label.
// Mean scores have no table of counts. They are bootstrapped from the rows where the tally
// kept them. Otherwise they are drawn from the moments of the scores, or from their
// histogram where the moments do not make the sums normal.
struct SoftRates {
  GroupRate all, positives;
};
[[nodiscard]] SoftRates soft_rates(const Tally& tally, std::span<const Index> attributes,
                                   const std::vector<GroupTally>& tallies,
                                   const std::vector<std::string>& values,
                                   const GroupRates& rates, const GroupOptions& options,
                                   const Exec& exec);

}  // namespace fmd::internal
