#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pipeline/candidates.h"

namespace fmd {

// step, remove and replace: Newton steps (fmd/unlearn/newton.h) of several scales s and,
// for training rows, several numbers of rows K. H and g are computed once and serve every
// s; with refresh > 1 both are computed anew at each of the steps.
[[nodiscard]] Candidates newton_candidates(const CandidateInput& input,
                                           const DebiasOptions& options, const Exec& exec);

// H from the training rows, or from the rows of the edit part.
[[nodiscard]] bool hessian_from_train(const CandidateInput& input,
                                      const DebiasOptions& options);

// What one step takes out and puts in: the edit part's pairs, training rows, or training
// rows and their flips.
struct Exchange {
  Index K = 0;
  const Study* study = nullptr;
  std::vector<Index> rows;          // remove
  std::vector<StudyPairs> pairs;    // replace
  const StudyPart* edit = nullptr;  // step

  [[nodiscard]] Vector gradient(const Head& head, const Vector& theta,
                                const Exec& exec) const;
};
struct Exchanges {
  std::vector<Exchange> all;              // K ascending
  double relative_gradient = kUndefined;  // of the head, where rows were ranked
};
[[nodiscard]] Exchanges make_exchanges(const CandidateInput& input,
                                       const DebiasOptions& options, const Exec& exec);

// The Hessian that the steps use, at any parameters.
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
  [[nodiscard]] std::unique_ptr<InverseHessian> of_network_pairs(const Vector& theta,
                                                                 const Exec& exec) const;

  const CandidateInput& input_;
  bool from_train_;
  Solver solver_;
  Rows train_;
  double n_ = 0;
  std::vector<Index> c_rows_;
  std::vector<float> c_weight_;                  // per row of the study
  std::vector<std::vector<float>> cbar_weight_;  // per pair of each attribute
  // Networks: both sides of all pairs as one list, made when it is asked for.
  mutable std::unique_ptr<Features> both_;
  mutable std::vector<float> both_weight_;
};

}  // namespace fmd
