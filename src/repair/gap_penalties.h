#pragma once

#include "core/internal.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/head_problem.h"
#include "fmd/repair/repair_options.h"
#include "fmd/unlearn/solve.h"

namespace fmd::internal {

// What solve minimises, but for lambda: the options' weights and soft group gaps. Throws
// Error(bad_option: a gap of no attribute).
[[nodiscard]] SolveOptions solve_options(const HeadProblem& problem,
                                         const RepairOptions& options);

// Adds one solve to the summary of all candidates.
void add_solve(const SolveSummary& one, InverseSummary& all);

}  // namespace fmd::internal
