#pragma once

#include <span>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/features.h"

namespace fmd {

// Post-processing for individual fairness (Petersen et al. 2021): the scores of rows that
// are answered together are smoothed on a graph of similar rows,
//   f = (I + lambda L)^-1 z,   W_ij = exp(-theta d_ij^2) where d_ij^2 <= tau, otherwise 0,
//   L = D - W, or normalised (L~ + L~^T) / 2 with W~ = D^-1/2 W D^-1/2, L~ = I - D~^-1 W~.
// W_ii = 1. D and D~ are diagonal and hold the sums of the rows of W and W~. d is the
// distance in a metric that ignores the attribute. An answer depends on which other rows
// are answered with it, so this method cannot be exported as a model.

// The metric: features without some columns and without some directions.
class FairMetric {
 public:
  FairMetric() = default;
  // drop: the features of the attribute. directions: features x k, over the features that
  // are left; their span is projected out. Throws Error(bad_shape).
  FairMetric(Index cols, std::span<const Index> drop, const Matrix& directions);
  // Coordinates of rows of X: rows x the features that are left. Their Euclidean distances
  // are d.
  [[nodiscard]] Matrix coordinates(const Features& X, std::span<const Index> rows) const;

 private:
  Index cols_ = 0;
  std::vector<Index> kept_;
  Matrix basis_;  // orthonormal columns
};

struct SmoothingOptions {
  double lambda = 1;  // >= 0
  double theta = 1;   // >= 0
  double tau = 1;     // of the squared distance; >= 0
  bool normalised = false;
};

// Z: rows x k logits, each column smoothed; A: rows x m coordinates. Cost: rows^2 m +
// rows^3 / 3. Throws Error(bad_option, bad_shape).
[[nodiscard]] Matrix smooth(const Matrix& Z, const Matrix& A,
                            const SmoothingOptions& options);

// The quantile q of the squared distances between two of these rows: the share q of them is
// at or below it.
[[nodiscard]] double distance_quantile(const Matrix& A, double q);

}  // namespace fmd
