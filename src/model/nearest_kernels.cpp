#include "model/nearest_kernels.h"

#include <cstring>

#include "core/simd.h"

#define FMD_BODY "model/nearest_body.h"
#include "core/simd_each.h"

namespace fmd::internal::nearest_kernels {

Index first_below(const float* c, const float* add, Index from, Index count, float limit) {
  return FMD_SELECT(first_below)(c, add, from, count, limit);
}

double squared_distance(const float* x, const float* y, Index count) {
  return FMD_SELECT(squared_distance)(x, y, count);
}

double dot(const float* x, const float* y, Index count) {
  return FMD_SELECT(dot)(x, y, count);
}

}  // namespace fmd::internal::nearest_kernels
