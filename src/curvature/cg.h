#pragma once

#include <memory>

#include "curvature/hessian_product.h"
#include "fmd/curvature/inverse_hessian.h"

namespace fmd {

struct CgOptions {
  double tolerance = 1e-6;  // of |H x - b| / |b|
  Index max_iterations = 500;
  double damping = 0;   // that `product` has, for the summary
  bool cached = false;  // the preconditioner came from the cache
};

// H^-1 b by conjugate gradients; L: Cholesky factor of a matrix near H. All right-hand
// sides share each pass over the rows. The residual that is reported is computed from x,
// not carried along.
[[nodiscard]] std::unique_ptr<InverseHessian> make_cg(HessianProduct product, Matrix L,
                                                      const CgOptions& options);

}  // namespace fmd
