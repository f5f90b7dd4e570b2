#pragma once

#include <memory>

#include "core/internal.h"
#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"

// Cholesky factors of symmetric matrices, row-major, lower triangles, and the solver that
// uses them.
namespace fmd::internal {

// A becomes its factor (the upper triangle keeps what was there); false when A is not
// positive definite.
[[nodiscard]] bool factor_in_place(Matrix& A);

// Estimate of 1 / (|A| |A^-1|) in the 1-norm from A's factor and |A|.
[[nodiscard]] double reciprocal_condition(const Matrix& L, double norm);

// b's columns become A^-1 b.
void solve_factored(const Matrix& L, Eigen::MatrixXd& b);

// Damping when H comes from other rows than the training rows, as a share of the mean
// eigenvalue.
inline constexpr double kExternalShare = 1e-2;
// Damping of an H that has no good factor, the same.
inline constexpr double kDampingShare = 1e-4;

// H with the damping of make_cholesky's rule, and its factor.
struct Factor {
  Matrix H, L;  // damped
  double damping = 0;
  double rcond = 0;  // of the undamped H, 0 = it has no factor
};
[[nodiscard]] Factor damped_factor(const Matrix& H, const DampingOptions& options);

// H^-1 b by the factor. cached: the factor came from the cache, for the summary.
[[nodiscard]] std::unique_ptr<InverseHessian> make_cholesky_solver(Factor factor,
                                                                   bool cached);

}  // namespace fmd::internal
