#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/curvature/inverse_hessian.h"

namespace fmd::internal {

struct LissaOptions {
  double scale = 1;         // what H is divided by
  double tolerance = 1e-6;  // of |H x - b| / |b|
  Index max_iterations = 500;
};

// H^-1 b by the Neumann series of H / scale: x <- x + (b - H x) / scale. Steps to a worse
// residual are not kept: a series that diverges gives its best sum, which is finite, and is
// reported as not converged.
[[nodiscard]] std::unique_ptr<InverseHessian> make_lissa(GaussNewton product,
                                                         const LissaOptions& options);

}  // namespace fmd::internal
