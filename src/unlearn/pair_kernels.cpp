#include "unlearn/pair_kernels.h"

#include <cstring>

#include "core/simd.h"

#define FMD_BODY "unlearn/pair_kernels_body.h"
#include "core/simd_each.h"

namespace fmd::internal::pair_kernels {

PairSums evaluate(const PairRows& rows, const double* weight, Ratio ratio, double* dp,
                  double* mixed) {
  return FMD_SELECT(evaluate)(rows, weight, ratio, dp, mixed);
}

double product(Index count, const double* mixed, const double* pulled, double du,
               double* both) {
  return FMD_SELECT(product)(count, mixed, pulled, du, both);
}

double held(const HeldRows& rows, const double* moved, const double* p, const double* q,
            const double* tail, double* slope) {
  return FMD_SELECT(held)(rows, moved, p, q, tail, slope);
}

}  // namespace fmd::internal::pair_kernels
