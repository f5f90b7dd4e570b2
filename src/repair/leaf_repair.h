#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/internal.h"
#include "fmd/model/linear_head.h"
#include "fmd/repair/choice.h"
#include "repair/cross_fitted_choice.h"

namespace fmd::internal {

// A problem of leaves of trees with only the touched ones in its head: the others are held.
// Every method works on it as on any linear head. It points into the whole problem, which
// must outlive it, and into itself.
class TouchedLeaves {
 public:
  TouchedLeaves(const HeadProblem& whole, const Exec& exec);
  TouchedLeaves(const TouchedLeaves&) = delete;
  TouchedLeaves& operator=(const TouchedLeaves&) = delete;

  [[nodiscard]] const HeadProblem& problem() const { return problem_; }
  // All leaves, with these values of the touched ones.
  [[nodiscard]] Vector widen(const Vector& touched) const;
  void widen(Candidates& candidates) const;

 private:
  void hold(Rows& rows, const Exec& exec);
  void hold(HeadPart& part, const Exec& exec);

  const HeadProblem& whole_;
  std::vector<std::int32_t> place_;
  LinearHead head_;
  std::map<const Features*, std::unique_ptr<Features>> held_;
  HeadProblem problem_;
};

// Method solve is the path on leaves, unless labels or gaps take part: its own iterations
// take minutes on a thousand leaves, and lead to nearly the same values.
[[nodiscard]] RepairMethod leaf_method(const RepairOptions& options);

// choose_repair() for leaves of trees: first the touched leaves, then, where this loses
// accuracy, a few steps over all leaves (unlearn/polish.h). These replace the choice where
// the cross-fitted accuracy is not below that of the first one, by the same rule. Gaps
// between groups are lowered over all leaves, after the flips.
[[nodiscard]] RepairChoice choose_leaves(const HeadProblem& problem,
                                         const RepairOptions& options,
                                         const IntervalOptions& intervals,
                                         const Exec& exec);

// The path on the touched leaves alone, where they are too many for its matrices: steps of
// conjugate gradients from point to point of a grid of lambdas.
[[nodiscard]] FoldedChoice descend_leaves(const HeadProblem& touched,
                                          const RepairOptions& options,
                                          const IntervalOptions& intervals,
                                          const Exec& exec);

}  // namespace fmd::internal
