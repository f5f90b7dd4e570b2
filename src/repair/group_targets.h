#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/repair/candidates.h"
#include "fmd/unlearn/solve.h"
#include "repair/shared_fit.h"

namespace fmd::internal {

// Is the target a gap between groups, of decisions? demographic_parity, equal_opportunity
// or equalized_odds.
[[nodiscard]] bool is_group_gap(const std::string& measure);
[[nodiscard]] bool targets_group_gap(const RepairOptions& options);

// The weights of squared soft gaps that are tried for a target.
inline constexpr double kGapGammas[] = {0, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
// The soft gaps of the target, on the edit rows, with this weight; none for gamma 0. Throws
// Error(bad_data: fewer than two groups with enough rows).
[[nodiscard]] std::vector<GapPenalty> group_penalties(const HeadProblem& problem,
                                                      const RepairOptions& options,
                                                      double gamma);
// Throws Error(bad_option) unless a favourable class is named.
void require_favorable(const HeadProblem& problem);

// For a target on a group gap: solve with gamma (soft group gap)^2 beside lambda times the
// consistency term, on a grid of both. Soft scores are sharpened, so that they are near
// decisions. A gap penalty alone pays with the attribute itself, so every lambda keeps the
// flips together; with may_use_attribute there is lambda 0 too. Linear heads. Throws
// Error(unsupported: hidden layers; bad_option: no favourable class).
[[nodiscard]] Candidates group_target_candidates(const HeadProblem& problem,
                                                 const RepairOptions& options,
                                                 const SharedFit& shared, const Exec& exec);

}  // namespace fmd::internal
