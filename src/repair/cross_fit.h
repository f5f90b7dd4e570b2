#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/repair/candidates.h"
#include "repair/fold.h"

namespace fmd::internal {

// Candidates fitted without each fold, at the settings of those that were fitted on all
// rows. problem and whole must outlive it.
class CrossFit {
 public:
  CrossFit(const HeadProblem& problem, const RepairOptions& options,
           const Candidates& whole, const Exec& exec);

  // Fits the candidates at these positions, ascending. A fold's network goes on from the
  // positions that are fitted already.
  void fit(std::span<const std::size_t> positions, const Exec& exec);

  [[nodiscard]] std::size_t folds() const { return folds_.size(); }
  [[nodiscard]] const FoldProblem& fold(std::size_t k) const { return *folds_[k]; }
  // Empty where it is not fitted.
  [[nodiscard]] const Vector& theta(std::size_t fold, std::size_t candidate) const {
    return theta_[fold][candidate];
  }

 private:
  [[nodiscard]] std::vector<Path> fold_paths(const Exec& exec) const;

  const HeadProblem& problem_;
  const RepairOptions& options_;
  const Candidates& whole_;
  std::vector<std::unique_ptr<FoldProblem>> folds_;
  std::vector<Path> paths_;  // small linear heads, solve and path; otherwise empty
  std::vector<std::vector<Vector>> theta_;
};

}  // namespace fmd::internal
