#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

// The hot loops of the search for neighbours, for the CPU that runs them.
namespace fmd::internal::nearest_kernels {

// The first j >= from with c_j + add_j < limit; count when there is none.
[[nodiscard]] Index first_below(const float* c, const float* add, Index from, Index count,
                                float limit);

// |x - y|^2 and x . y in double.
[[nodiscard]] double squared_distance(const float* x, const float* y, Index count);
[[nodiscard]] double dot(const float* x, const float* y, Index count);

}  // namespace fmd::internal::nearest_kernels
