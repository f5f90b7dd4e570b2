#include "model/nearest_kernels.h"

#include <cstring>

#include "core/simd.h"

#define FMD_ISA portable
#define FMD_LANES 2
#define FMD_TARGET
#include "model/nearest_body.h"
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET

#if FMD_X86
#define FMD_ISA avx2
#define FMD_LANES 4
#define FMD_TARGET __attribute__((target("avx2,fma")))
#include "model/nearest_body.h"
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET

#define FMD_ISA avx512
#define FMD_LANES 8
#define FMD_TARGET __attribute__((target("avx512f,avx512dq,fma")))
#include "model/nearest_body.h"
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#endif

namespace fmd::kernels {

Index first_below(const float* c, const float* add, Index from, Index count, float limit) {
  return FMD_SELECT(first_below)(c, add, from, count, limit);
}

double squared_distance(const float* x, const float* y, Index count) {
  return FMD_SELECT(squared_distance)(x, y, count);
}

double dot(const float* x, const float* y, Index count) {
  return FMD_SELECT(dot)(x, y, count);
}

}  // namespace fmd::kernels
