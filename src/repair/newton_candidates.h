#pragma once

#include "core/internal.h"
#include "fmd/repair/candidates.h"
#include "repair/shared_fit.h"

namespace fmd::internal {

// step, remove and replace: Newton steps (fmd/unlearn/newton.h) of several scales s and,
// for training rows, several numbers of rows K. H and g are computed once and serve every
// s. With refresh > 1 both are computed again before each of the steps. Throws
// Error(bad_data) when fewer rows than asked for raise the flip gap.
[[nodiscard]] Candidates newton_candidates(const HeadProblem& problem,
                                           const RepairOptions& options,
                                           const SharedFit& shared, const Exec& exec);

// True: H comes from the training rows. False: from the rows of the edit part.
[[nodiscard]] bool hessian_from_train(const HeadProblem& problem,
                                      const RepairOptions& options);

}  // namespace fmd::internal
