#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/repair/candidates.h"

namespace fmd::internal {

// What a fit without a fold takes from the fit on all rows: the settings, so that both have
// one grid, and where to start. An empty one stands for the fit on all rows itself.
struct SharedFit {
  std::span<const Candidate> wanted = {};  // settings, in the order of the whole fit
  const Candidates* whole = nullptr;       // the fit on all rows
  const Path* path = nullptr;              // of the other folds, where it is known
  // Networks: lambdas that are fitted without the fold, ascending.
  std::vector<std::pair<double, const Vector*>> fitted = {};

  [[nodiscard]] bool empty() const { return whole == nullptr; }
};

// Pairs of training rows, where leaves of trees are repaired.
[[nodiscard]] inline std::span<const PairSet> more_pairs(const HeadProblem& problem) {
  if (problem.more_pairs == nullptr) return {};
  return problem.more_pairs->sets;
}
// All pairs that the repair may use.
[[nodiscard]] std::vector<PairSet> repair_pairs(const HeadProblem& problem);

// make_candidates() at the settings that are wanted: one candidate for each, in their
// order.
[[nodiscard]] Candidates make_shared_candidates(const HeadProblem& problem,
                                                const RepairOptions& options,
                                                const SharedFit& shared, const Exec& exec);

}  // namespace fmd::internal
