#pragma once

#include <span>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exact_sum.h"
#include "fmd/core/exec.h"
#include "fmd/core/hash.h"
#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd {

// The direction v = H^-1 grad |B| of each measure, which tells the change of every row.
struct ExplainSolution {
  std::vector<double> value;  // |B| of each measure
  Matrix v;                   // parameters x measures
  Index rows = 0;             // training rows, n of F
  InverseSummary solve;
  double relative_gradient = 0;  // as in InfluenceResult
};

struct ExplainStateOptions {
  double l2 = 0;                // of F
  DampingOptions damping = {};  // of H over the training rows
};

// What influence() sums over rows, for rows that are cut into parts: on threads, in files,
// on many machines. Sums are
//
//   over the training rows    the Hessian, the gradient of the loss
//   over the rows of a gap    the statistics s of each measure, and ds/dtheta
//
// A measure is B = F(s), so grad B = sum_k dF/ds_k ds_k/dtheta, and one pass is enough. All
// sums are exact in a fixed unit (2^-64), so any cut and any order give the same bits.
// influence() gives the same changes but for rounding. First each part is added, then the
// states are merged, then solve() tells the directions. changes() needs a second pass over
// the training rows, again part by part.
//
// Cost: (parameters^2 / 2 + parameters) additions for each training row, and 8 parameters^2
// bytes. Only for linear heads of at most kMostDense parameters.
class ExplainState {
 public:
  // All must outlive the state. Throws Error(unsupported: too many parameters),
  // Error(bad_shape, bad_option).
  ExplainState(const LinearHead& head, const Vector& theta,
               std::vector<const BiasMeasure*> measures);

  // Throws Error(bad_shape), Error(bad_data) for a label that is no class, and for features
  // so large (products of 2^31) that the sums would not hold them.
  void add_training(const Rows& rows);
  // Rows or pairs that measure j is taken on. All pairs of a row are in one part. Throws
  // the same.
  void add(std::size_t measure, const MeasureData& data);

  void merge(const ExplainState& other);  // throws Error(wrong_model): of another head
  void save(ByteWriter& out) const;
  // Replaces the sums by those that were saved. The bytes may come from anybody. Throws
  // Error(bad_model), and Error(wrong_model) where they are of another head or other
  // measures.
  void load(ByteReader& in);

  // Throws Error(bad_data) where there are no training rows or nothing to measure, and
  // Error(numerical).
  [[nodiscard]] ExplainSolution solve(const ExplainStateOptions& options = {}) const;

 private:
  struct Measured {
    const BiasMeasure* measure;
    std::vector<ExactSum> statistics;
    std::vector<ExactSum> slopes;  // statistics x whole parameters
  };
  class Adder;
  [[nodiscard]] Hash identity() const;
  [[nodiscard]] Index width() const { return head_->inputs() + 1; }
  [[nodiscard]] std::vector<std::vector<ExactSum>*> sums();

  const LinearHead* head_;
  const Vector* theta_;
  Index rows_ = 0;
  std::vector<ExactSum> hessian_;       // pairs of classes x lower triangle
  std::vector<ExactSum> here_, start_;  // gradients of the loss, see LossGradients
  std::vector<Measured> measured_;
};

// Predicted change of each measure without a row: rows x measures. See influence().
[[nodiscard]] Matrix changes(const LinearHead& head, const Rows& train, const Vector& theta,
                             const ExplainSolution& solution, const Exec& exec);

}  // namespace fmd
