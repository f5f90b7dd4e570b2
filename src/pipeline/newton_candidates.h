#pragma once

#include "pipeline/candidates.h"

namespace fmd::internal {

// step, remove and replace: Newton steps (fmd/unlearn/newton.h) of several scales s and,
// for training rows, several numbers of rows K. H and g are computed once and serve every
// s. With refresh > 1 both are computed again before each of the steps.
[[nodiscard]] Candidates newton_candidates(const CandidateInput& input,
                                           const DebiasOptions& options, const Exec& exec);

}  // namespace fmd::internal
