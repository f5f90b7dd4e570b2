#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/rows.h"

namespace fmd {

class ByteReader;
class ByteWriter;
class LinearHead;

// Sum over rows of w (diag(p) - p p^T) (x) (phi,1)(phi,1)^T for a linear head, exact, as an
// accumulator. Only pairs of different classes are summed, lower triangles only: the rows
// of diag(p) - p p^T sum to 0, so a diagonal block is minus the sum of the other blocks in
// its row. Parameters in theta's order: class k, feature j at k (d+1) + j, intercept at
// j = d.
class HessianSum {
 public:
  HessianSum() = default;
  HessianSum(Index inputs, Index outputs);
  // Of `rows` rows whose sums are known: for each pair of classes k > l the lower triangle
  // of sum_i w_i p_ik p_il x_i x_i^T, where x ends in 1. Throws Error(bad_shape).
  HessianSum(Index inputs, Index outputs, Index rows, Matrix sum);

  // Adds the rows of a block with probabilities p (rows x classes) and weights w (empty =
  // 1).
  void add(const FeatureBlock& block, const Matrix& p, std::span<const double> w);

  void merge(const HessianSum& other);
  void save(ByteWriter& out) const;
  static HessianSum load(ByteReader& in);

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Matrix matrix() const;  // full symmetric sum

 private:
  Index inputs_ = 0, outputs_ = 0, rows_ = 0;
  Matrix sum_;
};

struct HessianOptions {
  double l2 = 0;  // added on the weights, not on intercepts
  // n of F: the rows of the original training set; 0 = rows.size()
  double rows_in_mean = 0;
  bool gauge = true;  // softmax: add t (11^T / C) (x) I, t = mean eigenvalue
};

// The mean over n rows of a sum over rows, with l2 and gauge. n: rows_in_mean, or the rows
// of the sum.
[[nodiscard]] Matrix mean_hessian(const LinearHead& head, const HessianSum& sum,
                                  const HessianOptions& options);

// Mean Hessian of F at theta: (1/n) sum + l2 (+ gauge). Throws Error(bad_option,
// bad_shape).
[[nodiscard]] Matrix hessian(const LinearHead& head, const Rows& rows, const Vector& theta,
                             const HessianOptions& options, const Exec& exec);

}  // namespace fmd
