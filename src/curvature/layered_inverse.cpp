#include "curvature/layered_inverse.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "curvature/cg.h"
#include "curvature/kfac.h"
#include "fmd/curvature/gauss_newton.h"

namespace fmd {
namespace {

constexpr Index kMostFormed = 4000;  // parameters
constexpr Index kAlwaysFormed = 300;
constexpr Index kPreconditionerBlocks = 4;
constexpr double kDampingShare = 1e-2;  // of the mean eigenvalue
constexpr Index kLanczosSteps = 20, kProbes = 4;
constexpr double kAboveLargest = 1.05;  // Ritz values come from below

// |b - A x| / |b|, the worst over columns; NaN shows.
double worst_residual(const GaussNewton& product, const Matrix& x, const Matrix& b) {
  double worst = 0;
  for (Index j = 0; j < b.cols(); ++j) {
    const double size = b.col(j).norm();
    const double rest = (b.col(j) - product.apply(x.col(j))).norm();
    const double residual = size > 0 ? rest / size : 0;
    if (!(residual <= worst)) worst = residual;
  }
  return worst;
}

struct Series {
  double scale = 1, tolerance = 1e-6;
  Index max_iterations = 500;
};

// x <- x + (b - A x) / scale. Steps towards a worse residual are not kept: a series that
// diverges leaves its best sum, finite, and says that it did not converge.
class Lissa final : public InverseHessian {
 public:
  Lissa(GaussNewton product, const Series& series)
      : product_(std::move(product)), series_(series) {}

  [[nodiscard]] Index dim() const override { return product_.dim(); }
  [[nodiscard]] double damping() const override { return product_.terms().damping; }

  [[nodiscard]] InverseResult apply(const Matrix& b) const override {
    require_size("lissa", "a right-hand side", b.rows(), dim());
    InverseResult result;
    result.x.resize(b.rows(), b.cols());
    Index most = 0;
    for (Index j = 0; j < b.cols(); ++j) {
      Index steps = 0;
      result.x.col(j) = sum(b.col(j), steps);
      most = std::max(most, steps);
    }
    const double residual = worst_residual(product_, result.x, b);
    result.summary = {.converged = residual <= 2 * series_.tolerance,
                      .residual = residual,
                      .damping = damping(),
                      .rcond = 0,
                      .iterations = most,
                      .solver = "lissa",
                      .cached = false};
    return result;
  }

 private:
  [[nodiscard]] Vector sum(const Vector& b, Index& steps) const {
    Vector x = Vector::Zero(dim()), best = x, rest = b;
    const double size = b.norm();
    if (!(size > 0) || !std::isfinite(size)) return x;
    double least = size;
    while (steps < series_.max_iterations && least > series_.tolerance * size) {
      x += rest / series_.scale;
      rest = b - product_.apply(x);
      ++steps;
      const double left = rest.norm();
      if (!(left < 1e3 * size)) break;  // diverges
      if (left < least) {
        least = left;
        best = x;
      }
    }
    return best;
  }

  GaussNewton product_;
  Series series_;
};

class KfacInverse final : public InverseHessian {
 public:
  KfacInverse(GaussNewton product, Kfac kfac, double tolerance)
      : product_(std::move(product)), kfac_(std::move(kfac)), tolerance_(tolerance) {}

  [[nodiscard]] Index dim() const override { return product_.dim(); }
  [[nodiscard]] double damping() const override { return product_.terms().damping; }

  [[nodiscard]] InverseResult apply(const Matrix& b) const override {
    require_size("kfac", "a right-hand side", b.rows(), dim());
    InverseResult result;
    result.x.resize(b.rows(), b.cols());
    for (Index j = 0; j < b.cols(); ++j) result.x.col(j) = kfac_.solve(b.col(j), damping());
    const double residual = worst_residual(product_, result.x, b);
    result.summary = {.converged = residual <= 2 * tolerance_,
                      .residual = residual,
                      .damping = damping(),
                      .rcond = 0,
                      .iterations = 0,
                      .solver = "kfac",
                      .cached = false};
    return result;
  }

 private:
  GaussNewton product_;
  Kfac kfac_;
  double tolerance_;
};

void validate(const Head& head, const CurvatureOptions& o, Solver solver) {
  require_option(o.l2 >= 0, "curvature", "l2", o.l2, ">= 0");
  require_option(o.rows_in_mean >= 0, "curvature", "rows_in_mean", o.rows_in_mean, ">= 0");
  require_option(o.tolerance > 0, "curvature", "tolerance", o.tolerance, "> 0");
  require_option(o.max_iterations > 0, "curvature", "max_iterations", o.max_iterations,
                 "> 0");
  require_option(o.lissa_scale >= 0 && std::isfinite(o.lissa_scale), "curvature",
                 "lissa_scale", o.lissa_scale, ">= 0");
  if (solver == Solver::cholesky && head.parameters() > kMostFormed)
    throw Error(ErrorKind::unsupported,
                fmt::format("curvature: a matrix of {} parameters is not formed for hidden "
                            "layers, at most {}",
                            head.parameters(), kMostFormed),
                "use the solver cg");
}

// Damping by the rule, and the spectrum where somebody needs it.
double damping_of(const Head& head, const CurvatureOptions& o, const Spectrum& spectrum) {
  if (o.damping.damping >= 0) return o.damping.damping;
  if (head.linear() && o.l2 > 0 && !o.damping.external) return 0;
  return kDampingShare * spectrum.mean;
}

}  // namespace

std::unique_ptr<InverseHessian> make_layered_inverse(const Head& head, const Rows& rows,
                                                     const Vector& theta,
                                                     const CurvatureOptions& options,
                                                     const Exec& exec) {
  const Solver solver = options.solver != Solver::automatic  ? options.solver
                        : head.parameters() <= kAlwaysFormed ? Solver::cholesky
                                                             : Solver::cg;
  validate(head, options, solver);
  GaussNewton product(
      head, rows, theta,
      {.n = options.rows_in_mean, .l2 = options.l2, .damping = 0, .exact = options.exact},
      exec);
  if (solver == Solver::cholesky)
    return make_cholesky(product.matrix(),
                         {.damping = options.damping.damping, .external = true});
  const bool series = solver == Solver::lissa && options.lissa_scale == 0;
  const Spectrum spectrum =
      estimate_spectrum(product, series ? kLanczosSteps : 1, kProbes, exec.seed);
  product.set_damping(damping_of(head, options, spectrum));
  if (solver == Solver::lissa) {
    const double largest = spectrum.largest + product.terms().damping;
    const double scale =
        options.lissa_scale > 0 ? options.lissa_scale : kAboveLargest * largest;
    return std::make_unique<Lissa>(std::move(product),
                                   Series{.scale = scale > 0 ? scale : 1,
                                          .tolerance = options.tolerance,
                                          .max_iterations = options.max_iterations});
  }
  Kfac kfac(head, rows, theta,
            {.n = product.terms().n,
             .l2 = options.l2,
             .most_blocks = solver == Solver::kfac ? 0 : kPreconditionerBlocks},
            exec);
  if (solver == Solver::kfac)
    return std::make_unique<KfacInverse>(std::move(product), std::move(kfac),
                                         options.tolerance);
  const auto shared = std::make_shared<const GaussNewton>(std::move(product));
  const auto blocks = std::make_shared<const Kfac>(std::move(kfac));
  const double damping = shared->terms().damping;
  return make_cg(
      {.dim = shared->dim(),
       .product =
           [shared](const Matrix& V) {
             Matrix all(V.rows(), V.cols());
             for (Index j = 0; j < V.cols(); ++j) all.col(j) = shared->apply(V.col(j));
             return all;
           },
       .precondition = [blocks,
                        damping](const Vector& v) { return blocks->solve(v, damping); }},
      {.tolerance = options.tolerance,
       .max_iterations = options.max_iterations,
       .damping = damping,
       .cached = false});
}

}  // namespace fmd
