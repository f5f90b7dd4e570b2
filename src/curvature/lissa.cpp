#include "curvature/lissa.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "curvature/residual.h"

namespace fmd::internal {
namespace {

class Lissa final : public InverseHessian {
 public:
  Lissa(GaussNewton product, const LissaOptions& options)
      : product_(std::move(product)), options_(options) {}

  [[nodiscard]] Index dim() const override { return product_.dim(); }
  [[nodiscard]] double damping() const override { return product_.terms().damping; }

  [[nodiscard]] InverseResult apply(const Matrix& b) const override {
    require_size("lissa", "a right-hand side", b.rows(), dim());
    InverseResult result;
    result.x.resize(b.rows(), b.cols());
    Index most = 0;
    for (Index j = 0; j < b.cols(); ++j) {
      Index steps = 0;
      result.x.col(j) = sum(b.col(j), steps);
      most = std::max(most, steps);
    }
    const double residual = worst_residual(product_, result.x, b);
    result.summary = {.converged = residual <= 2 * options_.tolerance,
                      .residual = residual,
                      .damping = damping(),
                      .rcond = 0,
                      .iterations = most,
                      .solver = "lissa",
                      .cached = false};
    return result;
  }

 private:
  [[nodiscard]] Vector sum(const Vector& b, Index& steps) const {
    Vector x = Vector::Zero(dim()), best = x, rest = b;
    const double size = b.norm();
    if (!(size > 0) || !std::isfinite(size)) return x;
    double least = size;
    while (steps < options_.max_iterations && least > options_.tolerance * size) {
      x += rest / options_.scale;
      rest = b - product_.apply(x);
      ++steps;
      const double left = rest.norm();
      if (!(left < 1e3 * size)) break;  // diverges
      if (left < least) {
        least = left;
        best = x;
      }
    }
    return best;
  }

  GaussNewton product_;
  LissaOptions options_;
};

}  // namespace

std::unique_ptr<InverseHessian> make_lissa(GaussNewton product,
                                           const LissaOptions& options) {
  return std::make_unique<Lissa>(std::move(product), options);
}

}  // namespace fmd::internal
