#pragma once

#include <span>

#include "core/internal.h"
#include "fmd/repair/candidates.h"
#include "fmd/unlearn/solve_adam.h"
#include "repair/shared_fit.h"

namespace fmd::internal {

// The trade-off of a head with hidden layers: by continuation over a grid of lambdas. Each
// solve starts from the result of the one before.
[[nodiscard]] Candidates network_candidates(const HeadProblem& problem,
                                            const RepairOptions& options,
                                            const SharedFit& shared, const Exec& exec);

// As many epochs as give about 400 steps over these pairs.
[[nodiscard]] SolveAdamOptions adam_options(std::span<const PairSet> sets);

}  // namespace fmd::internal
