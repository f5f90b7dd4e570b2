#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/repair/candidates.h"
#include "fmd/unlearn/solve.h"
#include "repair/shared_fit.h"

namespace fmd::internal {

// Consistency between matched pairs would remove what makes two persons different, and it
// hardly changes the gap. So matched pairs have another repair: it fits the labels of all
// edit rows, with the same total weight for every cell of label x attribute, + mu/2
// |theta - theta0|^2 + gamma (TPR gap^2 + FPR gap^2) on soft scores. The candidates are a
// grid of mu and gamma. Throws Error(bad_data: a cell of label x value is empty;
// bad_option: no favourable class).
//
// Features that are no columns have any scale: those of a network's last hidden layer are
// often far below 1. They are standardised on the edit rows for the fit, so that mu means
// the same everywhere. The result is in the head's own features.
[[nodiscard]] Candidates match_candidates(const HeadProblem& problem,
                                          const RepairOptions& options,
                                          const SharedFit& shared, const Exec& exec);

// The fit of one candidate. The problem must outlive it.
class MatchFit {
 public:
  // fit: weight of the labels' loss.
  MatchFit(const HeadProblem& problem, double fit);
  // start: parameters to begin with; empty = the problem's.
  [[nodiscard]] SolveResult solve(double mu, double gamma, const Vector& start,
                                  const Exec& exec) const;

 private:
  [[nodiscard]] Vector scaled(const Vector& theta) const;
  [[nodiscard]] Vector unscaled(const Vector& theta) const;

  const HeadProblem& problem_;
  double fit_;
  Rows rows_;
  std::unique_ptr<Features> standard_;  // null: the features are used as they are
  Vector mean_, deviation_;
  PairSet balanced_;
};

}  // namespace fmd::internal
