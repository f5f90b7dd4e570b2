#pragma once

#include <memory>

#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"

// Cholesky factors of symmetric matrices, row-major, lower triangles.
namespace fmd {

// A becomes its factor (the upper triangle keeps what was there); false when A is not
// positive definite.
[[nodiscard]] bool factor_in_place(Matrix& A);

// Estimate of 1 / (|A| |A^-1|) in the 1-norm from A's factor and |A|.
[[nodiscard]] double reciprocal_condition(const Matrix& L, double norm);

// b's columns become A^-1 b.
void solve_factored(const Matrix& L, Eigen::MatrixXd& b);

// H with the damping of make_cholesky's rule, and its factor.
struct Factor {
  Matrix H, L;  // damped
  double damping = 0;
  double rcond = 0;  // of the undamped H, 0 = it has no factor
};
[[nodiscard]] Factor damped_factor(const Matrix& H, const DampingOptions& options);
[[nodiscard]] std::unique_ptr<InverseHessian> make_cholesky(Factor factor, bool cached);

}  // namespace fmd
