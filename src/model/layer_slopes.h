#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/model/head.h"

namespace fmd::internal {

// For each layer of a head with these widths: the slopes of sum_k h_k z_k by what the layer
// adds up (rows x its width), given the tape of the forward pass.
[[nodiscard]] std::vector<Matrix> layer_slopes(const std::vector<Index>& widths,
                                               const Vector& theta, const Tape& tape,
                                               Matrix h);

}  // namespace fmd::internal
