#pragma once

#include <span>

#include "fmd/unlearn/solve.h"

namespace fmd {

// What every minimiser of J asks of its arguments. Throws as solve says.
void require_solvable(const Head& head, const Vector& theta0, const Rows& rows,
                      std::span<const PairSet> pairs, const SolveOptions& options);
// The pairs alone.
void require_solvable(const Head& head, std::span<const PairSet> pairs,
                      const SolveOptions& options);

}  // namespace fmd
