#pragma once

#include <functional>
#include <memory>

#include "core/internal.h"
#include "fmd/curvature/inverse_hessian.h"

namespace fmd::internal {

struct CgOptions {
  double tolerance = 1e-6;  // of |H x - b| / |b|
  Index max_iterations = 500;
  double damping = 0;   // that `product` has, for the summary
  bool cached = false;  // the preconditioner came from the cache
};

// H, and the inverse of a matrix near it.
struct CgSystem {
  Index dim = 0;
  std::function<Matrix(const Matrix&)> product;       // H V, one column per direction
  std::function<Vector(const Vector&)> precondition;  // symmetric, positive definite
};

// H^-1 b by conjugate gradients. All right-hand sides share each product. The reported
// residual is computed from x at the end, not carried along.
[[nodiscard]] std::unique_ptr<InverseHessian> make_cg(CgSystem system,
                                                      const CgOptions& options);

}  // namespace fmd::internal
