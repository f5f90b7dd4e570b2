#pragma once

#include <memory>
#include <span>

#include "fmd/core/exec.h"
#include "fmd/model/features.h"

namespace fmd {

struct Whitened {
  std::unique_ptr<Features> X;  // dense; features that vary within no group are left out
  // Mean squared distance of a row from its group's mean: about the rank. Twice this is the
  // mean squared distance of two rows of a group.
  double spread = 0;
  double ridge = 0;  // added to the correlations' diagonal; 0 where they are regular
};

// Rows in the coordinates in which the pooled covariance within groups is the identity.
// Euclidean distances are then Mahalanobis distances. The coordinates are L^-1 D^-1 (x -
// mean), D the standard deviations, L L^T the correlations plus ridge. The indicators of
// one category's levels sum to 1, which makes the matrix singular: then a ridge of 1e-6 is
// added, or the smallest power of ten above it that works. group: one number per row, -1 =
// not counted. Cost: rows x features^2; memory: rows x features floats. Throws
// Error(bad_data: nothing varies; bad_shape; unsupported: more than 4,096 features).
[[nodiscard]] Whitened whiten(const Features& X, std::span<const std::int32_t> group,
                              const Exec& exec);

}  // namespace fmd
