#pragma once

#include <memory>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// Each layer's block of Gauss-Newton's matrix as a Kronecker product G (x) A: A the mean of
// (a, 1)(a, 1)^T over the rows, G the sum of delta delta^T / n, exact over the labels that
// the model itself would draw. Blocks between layers are left out. The inverse with ridge
// and damping is applied in the eigenbases of A and G.
class Kfac {
 public:
  struct Terms {
    double n = 1, l2 = 0;
    Index most_blocks = 0;  // blocks of rows that are used, spread evenly; 0 = all
  };
  Kfac(const Head& head, const Rows& rows, const Vector& theta, const Terms& terms,
       const Exec& exec);

  // (blocks + l2 + damping)^-1 v; the ridge is taken on intercepts too.
  [[nodiscard]] Vector solve(const Vector& v, double damping) const;

 private:
  struct Layer {
    Index start = 0;
    Matrix inputs, outputs;  // eigenvectors of A and G, one a column
    Vector input_values, output_values;
  };
  std::vector<Layer> layers_;
  double l2_ = 0;
};

// H^-1 b by the blocks alone: an approximation. The residual is that of the whole product;
// converged means that it is at most twice the tolerance.
[[nodiscard]] std::unique_ptr<InverseHessian> make_kfac(GaussNewton product, Kfac kfac,
                                                        double tolerance);

}  // namespace fmd::internal
