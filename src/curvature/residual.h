#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"
#include "fmd/curvature/gauss_newton.h"

namespace fmd::internal {

// |b - A x| / |b|, the worst over columns; NaN shows.
[[nodiscard]] inline double worst_residual(const GaussNewton& product, const Matrix& x,
                                           const Matrix& b) {
  double worst = 0;
  for (Index j = 0; j < b.cols(); ++j) {
    const double size = b.col(j).norm();
    const double rest = (b.col(j) - product.apply(x.col(j))).norm();
    const double residual = size > 0 ? rest / size : 0;
    if (!(residual <= worst)) worst = residual;
  }
  return worst;
}

}  // namespace fmd::internal
