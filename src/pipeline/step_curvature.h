#pragma once

#include <memory>
#include <vector>

#include "pipeline/candidates.h"

namespace fmd::internal {

// True: H comes from the training rows. False: from the rows of the edit part.
[[nodiscard]] bool hessian_from_train(const CandidateInput& input,
                                      const DebiasOptions& options);

// The Hessian that the Newton steps use, at any parameters.
class StepCurvature {
 public:
  StepCurvature(const CandidateInput& input, const DebiasOptions& options);
  [[nodiscard]] double rows() const { return n_; }  // n: rows in the Hessian's data
  [[nodiscard]] const char* name() const { return from_train_ ? "train" : "edit pairs"; }
  // The result must not outlive this and exec.
  [[nodiscard]] std::unique_ptr<InverseHessian> at(const Vector& theta,
                                                   const Exec& exec) const;

 private:
  [[nodiscard]] Matrix pairs_hessian(const Vector& theta, const Exec& exec) const;
  [[nodiscard]] std::unique_ptr<InverseHessian> of_pair_rows(const Vector& theta,
                                                             const Exec& exec) const;

  const CandidateInput& input_;
  bool from_train_;
  Solver solver_;
  Rows train_;
  double n_ = 0;
  std::vector<Index> c_rows_;
  std::vector<float> c_weight_;                  // per row of the study
  std::vector<std::vector<float>> cbar_weight_;  // per pair of each attribute
  // Networks and large heads: both sides of all pairs as one list, made when it is first
  // needed.
  mutable std::unique_ptr<Features> both_;
  mutable std::vector<float> both_weight_;
};

}  // namespace fmd::internal
