#include "curvature/cholesky.h"

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "core/lapack.h"

namespace fmd::internal {
namespace {

constexpr double kSmallestRcond = 1e-12;
constexpr int kMostTries = 20;

class Cholesky final : public InverseHessian {
 public:
  Cholesky(Factor factor, bool cached) : factor_(std::move(factor)), cached_(cached) {}

  [[nodiscard]] Index dim() const override { return factor_.H.rows(); }
  [[nodiscard]] double damping() const override { return factor_.damping; }

  [[nodiscard]] InverseResult apply(const Matrix& b) const override {
    require_size("cholesky", "a right-hand side", b.rows(), dim());
    Eigen::MatrixXd x = b;
    solve_factored(factor_.L, x);
    Eigen::MatrixXd rest = b - factor_.H * x;
    // One round of refinement: the residual falls to rounding also for large condition
    // numbers.
    Eigen::MatrixXd correction = rest;
    solve_factored(factor_.L, correction);
    const Eigen::MatrixXd refined = x + correction;
    const Eigen::MatrixXd refined_rest = b - factor_.H * refined;
    InverseResult result;
    result.x = x;
    double worst = 0;
    for (Index j = 0; j < b.cols(); ++j) {
      const double size = b.col(j).norm();
      double left = rest.col(j).norm();
      if (refined_rest.col(j).norm() < left) {
        result.x.col(j) = refined.col(j);
        left = refined_rest.col(j).norm();
      }
      const double residual = size > 0 ? left / size : 0;
      if (!(residual <= worst)) worst = residual;  // NaN too
    }
    result.summary = {.converged = worst < 1e-8,
                      .residual = worst,
                      .damping = factor_.damping,
                      .rcond = factor_.rcond,
                      .iterations = 0,
                      .solver = "cholesky",
                      .cached = cached_};
    return result;
  }

 private:
  Factor factor_;
  bool cached_;
};

struct Attempt {
  bool ok = false;
  Matrix H, L;
};

Attempt damped(const Matrix& H, double damping) {
  Attempt attempt{false, H, {}};
  attempt.H.diagonal().array() += damping;
  attempt.L = attempt.H;
  attempt.ok = factor_in_place(attempt.L);
  return attempt;
}

[[noreturn]] void not_positive(double damping) {
  throw Error(
      ErrorKind::numerical,
      fmt::format("cholesky: the matrix is not positive definite with damping {}", damping),
      "use a larger damping, or leave it to the rule");
}

}  // namespace

// Row-major lower is column-major upper.
bool factor_in_place(Matrix& A) {
  const int n = static_cast<int>(A.rows());
  int info = 0;
  dpotrf_("U", &n, A.data(), &n, &info);
  return info == 0;
}

double reciprocal_condition(const Matrix& L, double norm) {
  const int n = static_cast<int>(L.rows());
  int info = 0;
  double rcond = 0;
  std::vector<double> work(static_cast<std::size_t>(3 * n));
  std::vector<int> iwork(static_cast<std::size_t>(n));
  dpocon_("U", &n, L.data(), &n, &norm, &rcond, work.data(), iwork.data(), &info);
  return rcond;
}

void solve_factored(const Matrix& L, Eigen::MatrixXd& b) {
  const int n = static_cast<int>(L.rows()), count = static_cast<int>(b.cols());
  int info = 0;
  if (n > 0 && count > 0) dpotrs_("U", &n, &count, L.data(), &n, b.data(), &n, &info);
}

Factor damped_factor(const Matrix& H, const DampingOptions& options) {
  if (H.rows() != H.cols()) {
    throw Error(
        ErrorKind::bad_shape,
        fmt::format("cholesky: the matrix is {} x {}, must be square", H.rows(), H.cols()));
  }
  require_option(options.damping >= 0 || options.damping == -1, "cholesky", "damping",
                 options.damping, ">= 0, or -1 for the rule");
  if (!H.allFinite())
    throw Error(ErrorKind::numerical,
                "cholesky: the matrix has entries that are not finite");

  const Index n = H.rows();
  Attempt attempt = damped(H, 0);
  const double norm = n > 0 ? H.cwiseAbs().rowwise().sum().maxCoeff() : 0;
  const double rcond = attempt.ok ? (n > 0 ? reciprocal_condition(attempt.L, norm) : 1) : 0;
  double damping = std::max(options.damping, 0.0);
  if (options.damping < 0 && (options.external || !(rcond > kSmallestRcond))) {
    const double mean = n > 0 ? H.trace() / static_cast<double>(n) : 0;
    damping = (options.external ? kExternalShare : kDampingShare) * mean;
    if (!(damping > 0)) damping = kDampingShare;  // H = 0
  }
  if (damping > 0) attempt = damped(H, damping);
  for (int tries = 0; !attempt.ok && options.damping < 0 && tries < kMostTries; ++tries) {
    damping *= 10;
    attempt = damped(H, damping);
  }
  if (!attempt.ok) not_positive(damping);
  return {std::move(attempt.H), std::move(attempt.L), damping, rcond};
}

std::unique_ptr<InverseHessian> make_cholesky_solver(Factor factor, bool cached) {
  return std::make_unique<Cholesky>(std::move(factor), cached);
}

}  // namespace fmd::internal
