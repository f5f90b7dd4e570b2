#pragma once

#include <span>

#include "fmd/core/types.h"
#include "fmd/model/features.h"

namespace fmd {

// Adds sum_i weight_i x_i x_i^T to the lower triangle of `into` ((d+1) x (d+1), x = (phi,
// 1)) for the rows of a block. Every curvature here uses this kernel (dense: scaled SYRK in
// double; sparse: scattered outer products). Weights may be negative. Throws
// Error(bad_shape).
void add_weighted_outer(const FeatureBlock& block, std::span<const double> weight,
                        Eigen::Ref<Matrix> into);

}  // namespace fmd
