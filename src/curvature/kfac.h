#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/internal.h"
#include "curvature/kronecker.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/head.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// Each layer's block of Gauss-Newton's matrix as a Kronecker product G (x) A: A the mean of
// (a, 1)(a, 1)^T over the rows, G the sum of delta delta^T / n, exact over the labels that
// the model itself would draw. Blocks between layers are left out. The inverse with ridge
// and damping is applied in the eigenbases of A and G. Of an A of more than 4,000 inputs
// only the diagonal is taken.
class Kfac {
 public:
  struct Terms {
    double n = 1, l2 = 0;
    Index most_blocks = 0;  // blocks of rows that are used, spread evenly; 0 = all
    double gauge = 0;       // linear softmax: t of t (11^T / C) (x) I, as in hessian()
  };
  Kfac(const Head& head, const Rows& rows, const Vector& theta, const Terms& terms,
       const Exec& exec);

  // (blocks + l2 + damping)^-1 b, for the parameters that there are; the ridge is taken on
  // intercepts too.
  [[nodiscard]] Vector solve(const Vector& b, double damping) const;

 private:
  std::vector<KroneckerBlock> layers_;
  std::optional<LinearHead> part_;  // a linear head that is not whole
  double l2_ = 0;
};

// H^-1 b by the blocks alone: an approximation. The residual is that of the whole product;
// converged means that it is at most twice the tolerance.
[[nodiscard]] std::unique_ptr<InverseHessian> make_kfac(GaussNewton product, Kfac kfac,
                                                        double tolerance);

}  // namespace fmd::internal
