#pragma once

#include <memory>
#include <string>

#include "fmd/core/types.h"

namespace fmd {

struct SolveSummary {
  bool converged = false;
  double residual = 0;  // max over right-hand sides of |H x - b| / |b|, of the damped H
  double damping = 0;   // added to the diagonal
  double rcond = 0;  // reciprocal condition number estimate of the undamped H, 0 = unknown
  Index iterations = 0;  // 0 for direct solvers
  std::string solver;    // "cholesky"
};

struct SolveResult {
  Matrix x;  // one column per right-hand side
  SolveSummary summary;
};

// H^-1 b for many b.
class InverseHessian {
 public:
  virtual ~InverseHessian() = default;
  [[nodiscard]] virtual Index dim() const = 0;
  [[nodiscard]] virtual SolveResult apply(const Matrix& b) const = 0;
  [[nodiscard]] virtual double damping() const = 0;
};

struct DampingOptions {
  double damping = -1;    // >= 0: exactly this; -1: by the rule below
  bool external = false;  // H from D_ex rows only: 1e-2 x mean eigenvalue straight away
};

// Cholesky of H + damping I. The rule: 0 when the factor exists with rcond > 1e-12, else
// 1e-4 x mean eigenvalue, times 10 until a factor exists. Throws Error(numerical) when H is
// not finite, Error(bad_shape).
[[nodiscard]] std::unique_ptr<InverseHessian> make_cholesky(
    const Matrix& H, const DampingOptions& options = {});

// A x = b for symmetric positive definite A (lower triangle read); false when A is not.
[[nodiscard]] bool solve_spd(Matrix A, Vector& b);

// All solutions of A u = g B u, U^T B U = I, eigenvalues ascending (LAPACK dsygvd).
// B must be positive definite: Error(numerical) otherwise.
struct GeneralisedEigen {
  Vector values;
  Matrix vectors;  // column j belongs to values[j]
};
[[nodiscard]] GeneralisedEigen generalised_eigen(const Matrix& A, const Matrix& B);

}  // namespace fmd
