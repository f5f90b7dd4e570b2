#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

class Head;
struct Rows;

struct InverseSummary {
  bool converged = false;
  double residual = 0;  // max over right-hand sides of |H x - b| / |b|, of the damped H
  double damping = 0;   // added to the diagonal
  double rcond = 0;  // reciprocal condition number estimate of the undamped H, 0 = unknown
  Index iterations = 0;  // most over the right-hand sides; 0 for direct solvers
  std::string solver;    // as to_string(Solver) names it
  bool cached = false;   // the factor came from the cache
};

struct InverseResult {
  Matrix x;  // one column per right-hand side
  InverseSummary summary;
};

// The most parameters of a linear head for which a matrix of parameters x parameters is
// formed without being asked for. LIMIT_FIGURES
inline constexpr Index kMostDense = 2000;

// H^-1 b for many b.
class InverseHessian {
 public:
  virtual ~InverseHessian() = default;
  [[nodiscard]] virtual Index dim() const = 0;
  [[nodiscard]] virtual InverseResult apply(const Matrix& b) const = 0;
  [[nodiscard]] virtual double damping() const = 0;
};

struct DampingOptions {
  double damping = -1;    // >= 0: exactly this; -1: by the rule below
  bool external = false;  // H from D_ex rows only: 1e-2 x mean eigenvalue at once
};

// Cholesky of H + damping I. The rule: 0 when the factor exists with rcond > 1e-12,
// otherwise 1e-4 x mean eigenvalue, times 10 until a factor exists. Throws Error(numerical)
// when H is not finite, Error(bad_shape).
[[nodiscard]] std::unique_ptr<InverseHessian> make_cholesky(
    const Matrix& H, const DampingOptions& options = {});

enum class Solver {
  automatic,  // the cheaper one by counting operations
  cholesky,   // H formed and factored: exact, any number of right-hand sides
  cg,     // H never formed: passes over the rows, preconditioned with the factor of H on
          // some of them, see preconditioner_rows. Above max_dense parameters, and with
          // hidden layers, with kfac, or with the diagonal: one output, or many inputs
  lissa,  // the Neumann series of H / scale, every row in each step; slow, on request only
  kfac,   // each layer's block as a Kronecker product: an approximation, any number of
          // right-hand sides; the residual is reported and rarely small
};

struct CurvatureOptions {
  Solver solver = Solver::automatic;
  double l2 = 0;  // of F
  // n of F, the rows of the original training set; 0 = rows.size()
  double rows_in_mean = 0;
  DampingOptions damping = {};
  double tolerance = 1e-6;     // cg, lissa: done at this |H x - b| / |b|; must be > 0
  Index max_iterations = 500;  // cg, lissa: for each right-hand side
  // lissa: what H is divided by. 0 = a little above its largest eigenvalue (by Lanczos).
  // Below half of that the series diverges; it is then reported as not converged.
  double lissa_scale = 0;
  // Heads with hidden layers: the exact Hessian instead of Gauss-Newton's matrix. It may
  // have negative eigenvalues: then cg stops, and no Cholesky factor exists.
  bool exact = false;
  // cg: 0 = the largest of 1,000, the number of parameters, and a hundredth of the rows
  Index preconditioner_rows = 0;
  // Linear heads: with more parameters automatic takes cg, and cg has no factor. Without
  // ridge the rule's damping is then 1e-4 x mean eigenvalue at once: nobody knows rcond.
  Index max_dense = kMostDense;
  // Folder for factors, made when absent; empty = none is kept. A factor is found again by
  // the hash of all that it depends on, so a stale one is never used. A damaged file is
  // replaced. Only factors are kept: those of Cholesky and of cg's preconditioner.
  std::filesystem::path cache = {};
};

// H^-1 of the mean Hessian of F at theta over `rows` (training rows, or D_ex with
// damping.external), with gauge term and damping. Cost for n rows, d inputs, C classes, p
// parameters: cholesky n d^2 C(C-1)/2 + p^3/3 multiply-adds once, p^2 for each right-hand
// side; cg 2 n d C for each step of each right-hand side. cholesky is refused above 4,000
// parameters. With hidden layers H is
// Gauss-Newton's matrix, and a product costs 4 n p. The rule's damping is then 1e-2 x mean
// eigenvalue, which is estimated by random probes where the matrix is not formed. cholesky
// forms the matrix by p products. The head and the rows must
// outlive the result. Throws Error(bad_option, bad_shape, bad_data, numerical,
// unsupported).
[[nodiscard]] std::unique_ptr<InverseHessian> make_inverse_hessian(
    const Head& head, const Rows& rows, const Vector& theta,
    const CurvatureOptions& options, const Exec& exec);

[[nodiscard]] std::string to_string(Solver solver);
[[nodiscard]] Solver parse_solver(const std::string& name);  // Error(bad_option)

// A x = b for symmetric positive definite A (lower triangle read); false when A is not
// positive definite.
[[nodiscard]] bool solve_spd(Matrix A, Vector& b);

}  // namespace fmd
