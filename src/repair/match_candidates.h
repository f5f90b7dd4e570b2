#pragma once

#include "core/internal.h"
#include "fmd/repair/candidates.h"
#include "repair/shared_fit.h"

namespace fmd::internal {

// Consistency between matched pairs would remove what makes two persons different, and it
// hardly changes the gap. So matched pairs have another repair: it fits the labels of all
// edit rows, with the same total weight for every cell of label x attribute, + mu/2
// |theta - theta0|^2 + gamma (TPR gap^2 + FPR gap^2) on soft scores. The candidates are a
// grid of mu and gamma. Throws Error(bad_data: a cell of label x value is empty;
// bad_option: no favourable class).
[[nodiscard]] Candidates match_candidates(const HeadProblem& problem,
                                          const RepairOptions& options,
                                          const SharedFit& shared, const Exec& exec);

}  // namespace fmd::internal
