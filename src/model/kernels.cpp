#include "model/kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/simd.h"

namespace fmd::internal::kernels {
namespace {

// The weights of each output in a row of its own, at an aligned address and with zeros
// behind, then all intercepts. In theta itself rows are d + 1 doubles apart, so that most
// loads would touch two cache lines.
struct AlignedRows {
  static constexpr Index kAlign = 8;  // doubles in a cache line, and in the widest vector

  Index rows, stride;

  AlignedRows(Index count, Index cols)
      : rows(count),
        stride((cols + kAlign - 1) / kAlign * kAlign),
        memory_(static_cast<double*>(::operator new[](
            static_cast<std::size_t>(rows* stride + rows) * sizeof(double), kAlignment))) {
    std::fill_n(memory_.get(), rows * stride + rows, 0.0);
  }
  [[nodiscard]] double* row(Index k) const { return memory_.get() + k * stride; }
  [[nodiscard]] double* intercept() const { return row(rows); }

 private:
  static constexpr std::align_val_t kAlignment{kAlign * sizeof(double)};
  struct Free {
    void operator()(double* p) const { ::operator delete[](p, kAlignment); }
  };
  std::unique_ptr<double[], Free> memory_;
};

}  // namespace
}  // namespace fmd::internal::kernels

#define FMD_BODY "model/kernels_dense_body.h"
#include "core/simd_each.h"
#define FMD_BODY "model/kernels_exp_body.h"
#include "core/simd_each.h"

namespace fmd::internal::kernels {

void dense_logits(const float* x, Index rows, Index d, const double* theta, Index outputs,
                  double* z) {
  AlignedRows w(outputs, d);
  for (Index k = 0; k < outputs; ++k) {
    std::copy_n(theta + k * (d + 1), d, w.row(k));
    w.intercept()[k] = theta[k * (d + 1) + d];
  }
  FMD_SELECT(dense_logits)(x, rows, d, w, z);
}

void dense_vjp(const float* x, Index rows, Index d, const double* h, Index outputs,
               double* into) {
  AlignedRows g(outputs, d);
  FMD_SELECT(dense_vjp)(x, rows, d, h, g);
  for (Index k = 0; k < outputs; ++k) {
    for (Index j = 0; j < d; ++j) into[k * (d + 1) + j] += g.row(k)[j];
    into[k * (d + 1) + d] += g.intercept()[k];
  }
}

void widen(const float* x, Index count, double scale, double* to) {
  FMD_SELECT(widen)(x, count, scale, to);
}

void exp_nonpositive(double* v, Index count) { FMD_SELECT(exp_nonpositive)(v, count); }

void softmax(const double* z, Index rows, Index outputs, double* p) {
  // Few rows at a time: three passes over what stays in the first-level cache.
  const Index tile = std::max<Index>(1, 2000 / outputs);
  const auto of_rows = FMD_SELECT(softmax);
  for (Index i = 0; i < rows; i += tile)
    of_rows(z + i * outputs, std::min(tile, rows - i), outputs, p + i * outputs);
}

void sigmoid(const double* z, Index count, double* p, double* q) {
  FMD_SELECT(sigmoid)(z, count, p, q);
}

void logistic_loss(const double* z, const double* sign, Index count, double* p,
                   double* loss) {
  FMD_SELECT(logistic_loss)(z, sign, count, p, loss);
}

}  // namespace fmd::internal::kernels
