#include "model/kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/simd.h"

#define FMD_ISA portable
#define FMD_LANES 2
#define FMD_TARGET
#define FMD_FMA(a, b, c) ((a) * (b) + (c))
#define FMD_WIDEN(f) __builtin_convertvector(f, V)
#include "model/kernels_body.h"
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#undef FMD_FMA
#undef FMD_WIDEN

#if FMD_X86
#define FMD_ISA avx2
#define FMD_LANES 4
#define FMD_TARGET __attribute__((target("avx2,fma")))
#define FMD_FMA(a, b, c) ((V)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FMD_WIDEN(f) ((V)_mm256_cvtps_pd((__m128)(f)))
#include "model/kernels_body.h"
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#undef FMD_FMA
#undef FMD_WIDEN

#define FMD_ISA avx512
#define FMD_LANES 8
#define FMD_TARGET __attribute__((target("avx512f,avx512dq,fma")))
#define FMD_FMA(a, b, c) ((V)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FMD_WIDEN(f) ((V)_mm512_maskz_cvtps_pd(0xff, (__m256)(f)))
#include "model/kernels_body.h"
#undef FMD_ISA
#undef FMD_LANES
#undef FMD_TARGET
#undef FMD_FMA
#undef FMD_WIDEN
#endif

namespace fmd::kernels {
namespace {

constexpr Index kAlign = 64;  // bytes of the widest vector and of a cache line

struct FreeAligned {
  void operator()(double* p) const { ::operator delete[](p, std::align_val_t{kAlign}); }
};

// theta's rows w_k | b_k with every row at an aligned address: theta's own rows are d + 1
// doubles apart, so that most loads from it would touch two cache lines.
struct AlignedRows {
  Index stride;
  std::unique_ptr<double[], FreeAligned> at;

  AlignedRows(Index rows, Index cols)
      : stride((cols * 8 + kAlign - 1) / kAlign * (kAlign / 8)),
        at(static_cast<double*>(::operator new[](static_cast<std::size_t>(rows* stride) * 8,
                                                 std::align_val_t{kAlign}))) {}
};

}  // namespace

void dense_logits(const float* x, Index rows, Index d, const double* theta, Index outputs,
                  double* z) {
  const AlignedRows w(outputs, d + 1);
  for (Index k = 0; k < outputs; ++k)
    std::copy_n(theta + k * (d + 1), d + 1, w.at.get() + k * w.stride);
  FMD_SELECT(dense_logits)(x, rows, d, w.at.get(), w.stride, outputs, z);
}

void dense_vjp(const float* x, Index rows, Index d, const double* h, Index outputs,
               double* into) {
  const AlignedRows g(outputs, d + 1);
  std::fill_n(g.at.get(), outputs * g.stride, 0.0);
  FMD_SELECT(dense_vjp)(x, rows, d, h, outputs, g.at.get(), g.stride);
  for (Index k = 0; k < outputs; ++k)
    for (Index j = 0; j <= d; ++j)
      into[k * (d + 1) + j] += g.at[static_cast<std::size_t>(k * g.stride + j)];
}

void widen(const float* x, Index count, double scale, double* to) {
  FMD_SELECT(widen)(x, count, scale, to);
}

void exp_nonpositive(double* v, Index count) { FMD_SELECT(exp_nonpositive)(v, count); }

void sigmoid(const double* z, Index count, double* p, double* q) {
  FMD_SELECT(sigmoid)(z, count, p, q);
}

void logistic_loss(const double* z, const double* sign, Index count, double* p,
                   double* loss) {
  FMD_SELECT(logistic_loss)(z, sign, count, p, loss);
}

}  // namespace fmd::kernels
