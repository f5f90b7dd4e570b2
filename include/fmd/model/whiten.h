#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/model/features.h"

namespace fmd {

// Features of all rows but some columns, as they are.
[[nodiscard]] std::unique_ptr<Features> without_columns(const Features& X,
                                                        std::span<const Index> drop,
                                                        const Exec& exec);

struct Whitened {
  std::unique_ptr<Features> X;  // dense; features that vary within no group are left out
  double spread = 0;  // mean squared length around a group's mean: about the rank; twice
                      // this is the mean squared distance of two rows of a group
  double ridge = 0;   // added to the correlations' diagonal; 0 where they are regular
};

// Rows in the coordinates in which the pooled covariance within groups is the identity, so
// that Euclidean distances are Mahalanobis distances: L^-1 D^-1 (x - mean), D the standard
// deviations, L L^T the correlations plus ridge. Indicators of one category's levels sum to
// 1, which makes the matrix singular: then a ridge of 1e-6 is added, or the least power of
// ten above that serves. group: per row, -1 = not counted. Cost: rows x features^2; memory:
// rows x features floats. Throws Error(bad_data: nothing varies; bad_shape;
// unsupported: more than 4,096 features).
[[nodiscard]] Whitened whiten(const Features& X, std::span<const std::int32_t> group,
                              const Exec& exec);

}  // namespace fmd
