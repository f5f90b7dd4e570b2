#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/repair/choice.h"

namespace fmd::internal {

// choose_repair() that keeps, for each candidate, what came out without each fold.
struct FoldedChoice {
  RepairChoice choice;
  std::vector<std::vector<Vector>> without_fold;  // of each candidate; empty: no folds
};
[[nodiscard]] FoldedChoice choose_folded(const HeadProblem& problem,
                                         const RepairOptions& options,
                                         const IntervalOptions& intervals,
                                         const Exec& exec);

}  // namespace fmd::internal
