#pragma once

#include <span>

#include "core/internal.h"
#include "fmd/unlearn/solve.h"

namespace fmd::internal {

// What every minimiser of J requires of its arguments. Throws what solve.h says.
void require_solvable(const Head& head, const Vector& theta0, const Rows& rows,
                      std::span<const PairSet> pairs, const SolveOptions& options);
// Checks the pairs alone.
void require_solvable(const Head& head, std::span<const PairSet> pairs,
                      const SolveOptions& options);

}  // namespace fmd::internal
