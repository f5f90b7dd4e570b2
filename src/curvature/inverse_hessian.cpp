#include "fmd/curvature/inverse_hessian.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/names.h"
#include "curvature/cg.h"
#include "curvature/cholesky.h"
#include "curvature/curvature_sample.h"
#include "curvature/factor_cache.h"
#include "curvature/hessian_product.h"
#include "curvature/kfac.h"
#include "curvature/lissa.h"
#include "fmd/core/hash.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/spectrum.h"
#include "fmd/model/linear_head.h"

namespace fmd {
namespace {

constexpr Name<Solver> kSolvers[] = {{Solver::automatic, "auto"},
                                     {Solver::cholesky, "cholesky"},
                                     {Solver::cg, "cg"},
                                     {Solver::lissa, "lissa"},
                                     {Solver::kfac, "kfac"}};

constexpr Index kPreconditionerRows = 1000;
constexpr Index kPreconditionerShare = 100;  // one row of this many, when that is more

constexpr Index kMostFormed = 4000;  // parameters, on request

// Heads with hidden layers, and solvers that use products alone.
constexpr Index kAlwaysFormed = 300;
constexpr Index kPreconditionerBlocks = 4;
constexpr double kProductsDampingShare = 1e-2;  // of the mean eigenvalue
constexpr Index kLanczosSteps = 20, kProbes = 4;
constexpr double kAboveLargest = 1.05;  // Ritz values come from below

// What a solver for a linear head works on.
struct Setting {
  const LinearHead& head;
  const Rows& rows;
  const Vector& theta;
  const CurvatureOptions& options;
  const Exec& exec;

  [[nodiscard]] bool large() const { return head.parameters() > options.max_dense; }
  [[nodiscard]] double n() const {
    return options.rows_in_mean > 0 ? options.rows_in_mean
                                    : static_cast<double>(rows.size());
  }
  [[nodiscard]] Index sample_size() const {
    const Index wanted = options.preconditioner_rows > 0
                             ? options.preconditioner_rows
                             : std::max({kPreconditionerRows, head.parameters(),
                                         rows.size() / kPreconditionerShare});
    return std::min(wanted, rows.size());
  }
  // Steps of cg, for the choice of the solver. The eigenvalues of a preconditioned H lie
  // within 2 sqrt(p/m) of 1 when the sample has m >> p rows. A smaller sample helps little.
  [[nodiscard]] double expected_steps() const {
    const double ratio = std::sqrt(static_cast<double>(sample_size()) /
                                   static_cast<double>(head.parameters()));
    return ratio < 3 ? 25 : std::ceil(std::log(2 / options.tolerance) / std::log(ratio));
  }
};

void validate(const Setting& s) {
  const CurvatureOptions& o = s.options;
  require_option(o.l2 >= 0, "curvature", "l2", o.l2, ">= 0");
  require_option(o.rows_in_mean >= 0, "curvature", "rows_in_mean", o.rows_in_mean, ">= 0");
  require_option(o.tolerance > 0, "curvature", "tolerance", o.tolerance, "> 0");
  require_option(o.max_iterations > 0, "curvature", "max_iterations", o.max_iterations,
                 "> 0");
  require_option(o.preconditioner_rows >= 0, "curvature", "preconditioner_rows",
                 o.preconditioner_rows, ">= 0");
  require_option(o.max_dense >= 0, "curvature", "max_dense", o.max_dense, ">= 0");
  require_size("curvature", "theta", s.theta.size(), s.head.parameters());
  if (s.rows.X == nullptr || s.rows.size() == 0)
    throw Error(ErrorKind::bad_data, "curvature: there are no rows",
                "give at least one row");
  require_size("curvature", "a row of features", s.rows.X->cols(), s.head.inputs());
}

// Compares the multiply-adds of both solvers, by the entries of the first block's rows. One
// in a pass over dense rows takes about four times as long as one in a matrix product: it
// waits for memory and turns floats into doubles.
Solver cheaper(const Setting& s) {
  Scratch scratch;
  const FeatureBlock block = s.rows.block(0, scratch);
  const double entries =
      1 + (block.sparse() ? static_cast<double>(block.start.back() - block.start.front()) /
                                static_cast<double>(block.rows)
                          : static_cast<double>(block.cols));
  const auto outputs = static_cast<double>(s.head.outputs());
  const double class_pairs = outputs == 1 ? 1 : outputs * (outputs - 1) / 2;
  const auto p = static_cast<double>(s.head.parameters());
  const auto matrix = [&](Index rows) {
    return static_cast<double>(rows) * entries * entries * class_pairs / 2 + p * p * p / 6;
  };
  const double pass =
      (block.sparse() ? 2 : 8) * static_cast<double>(s.rows.size()) * entries * outputs;
  if (s.options.l2 == 0 && s.options.damping.damping < 0) return Solver::cholesky;
  constexpr double kOtherPasses = 2;  // to draw the sample, to check the residual
  const double by_cg =
      matrix(s.sample_size()) + (kOtherPasses + s.expected_steps()) * (pass + p * p);
  return by_cg < matrix(s.rows.size()) ? Solver::cg : Solver::cholesky;
}

void require_formable(const Head& head) {
  if (head.parameters() <= kMostFormed) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("curvature: the matrix is formed for at most {} parameters, the "
                          "head has {}",
                          kMostFormed, head.parameters()),
              "use the solver cg");
}

// What the factor depends on besides rows and theta.
std::string describe(const Setting& s, const char* kind, Index rows) {
  const CurvatureOptions& o = s.options;
  std::string text = fmt::format(
      "{} outputs {} rows {} n {:a} l2 {:a} damping {:a} external {}", kind,
      s.head.outputs(), rows, s.n(), o.l2, o.damping.damping, o.damping.external);
  if (!s.head.whole())
    text += fmt::format(" intercept {} output_of {}", s.head.options().intercept,
                        fmt::join(s.head.options().output_of, " "));
  return text;
}

// The factor of that description: from the cache, or made now and kept there.
template <typename Make>
Factor cached_or(const Setting& s, const std::string& rest, bool& cached,
                 const Make& make) {
  cached = false;
  const std::filesystem::path& folder = s.options.cache;
  if (folder.empty()) return make();
  const Hash key = factor_key(s.rows, s.theta, rest, s.exec);
  if (std::optional<Factor> found = find_factor(folder, key)) {
    cached = true;
    return std::move(*found);
  }
  Factor made = make();
  keep_factor(folder, key, made);
  return made;
}

std::unique_ptr<InverseHessian> by_cholesky(const Setting& s) {
  bool cached = false;
  Factor factor = cached_or(s, describe(s, "cholesky", s.rows.size()), cached, [&] {
    const HessianOptions options{.l2 = s.options.l2, .rows_in_mean = s.n()};
    return damped_factor(hessian(s.head, s.rows, s.theta, options, s.exec),
                         s.options.damping);
  });
  return make_cholesky_solver(std::move(factor), cached);
}

// H over the drawn rows, without damping.
Matrix sample_hessian(const Setting& s, const CurvatureSample& sample) {
  const std::size_t size = sample.entries.size();
  std::vector<Index> numbers(size);
  std::vector<float> weight(static_cast<std::size_t>(s.rows.X->rows()), 0.0F);
  for (std::size_t i = 0; i < size; ++i) {
    const Index entry = sample.entries[i], row = s.rows.row(entry);
    numbers[i] = row;
    weight[static_cast<std::size_t>(row)] =
        static_cast<float>(sample.weight[i] * s.rows.weight_of(entry));
  }
  const Rows drawn{s.rows.X, s.rows.y, weight, numbers};
  const HessianOptions options{.l2 = s.options.l2, .rows_in_mean = s.n()};
  return hessian(s.head, drawn, s.theta, options, s.exec);
}

// The factor of H over the drawn rows and the damping of H. Without ridge a factor is
// needed to know whether H needs damping.
Factor preconditioner(const Setting& s, const Vector& traces, double mean) {
  const Matrix H = sample_hessian(s, draw_by_trace(traces, s.sample_size()));
  const DampingOptions& asked = s.options.damping;
  const bool by_rule = asked.damping < 0 && !asked.external;
  if (by_rule && s.options.l2 == 0) return damped_factor(H, asked);
  const double damping = asked.damping >= 0 ? asked.damping
                         : asked.external   ? kExternalShare * mean
                                            : 0;
  double added = damping;  // a sample may need more than H
  for (int tries = 0; tries < 20; ++tries) {
    Matrix L = H;
    L.diagonal().array() += added;
    if (factor_in_place(L)) return {Matrix(), std::move(L), damping, 0};
    added = std::max(10 * added, 1e-10 * (mean > 0 ? mean : 1));
  }
  throw Error(ErrorKind::numerical, "cg: the curvature of the sample has no factor",
              "use the solver cholesky, or a larger damping");
}

// What no factor of p x p numbers is needed for: Kronecker factors where they are small
// enough, otherwise the diagonal. On 20,000 rows of 12 one-hot columns (1,016 features, 20
// classes) the factors take conjugate gradients to 1e-10 in 75 steps, the diagonal in 865;
// on 20,002 features of one output the diagonal takes 45.
std::function<Vector(const Vector&)> large_preconditioner(const Setting& s,
                                                          const HessianProduct& product) {
  const double damping = product.terms().damping;
  if (s.head.gauge() && s.head.inputs() <= kMostKronecker) {
    const auto kfac =
        std::make_shared<const Kfac>(s.head, s.rows, s.theta,
                                     Kfac::Terms{.n = s.n(),
                                                 .l2 = s.options.l2,
                                                 .most_blocks = kPreconditionerBlocks,
                                                 .gauge = product.terms().gauge},
                                     s.exec);
    return [kfac, damping](const Vector& v) { return kfac->solve(v, damping); };
  }
  Vector diagonal = product.diagonal();
  const double floor = 1e-12 * diagonal.mean();  // features that are 0 in all rows
  diagonal = diagonal.cwiseMax(floor > 0 ? floor : 1.0);
  return [diagonal](const Vector& v) -> Vector { return v.cwiseQuotient(diagonal); };
}

std::unique_ptr<InverseHessian> by_large_cg(const Setting& s, HessianProduct product,
                                            double mean) {
  const DampingOptions& asked = s.options.damping;
  const double damping = asked.damping >= 0  ? asked.damping
                         : asked.external    ? kExternalShare * mean
                         : s.options.l2 == 0 ? kDampingShare * mean
                                             : 0;
  product.set_terms({.n = s.n(), .l2 = s.options.l2, .gauge = mean, .damping = damping});
  auto precondition = large_preconditioner(s, product);
  const auto shared = std::make_shared<const HessianProduct>(std::move(product));
  return make_cg({.dim = shared->dim(),
                  .product = [shared](const Matrix& V) { return shared->apply(V); },
                  .precondition = std::move(precondition)},
                 {.tolerance = s.options.tolerance,
                  .max_iterations = s.options.max_iterations,
                  .damping = damping,
                  .cached = false});
}

std::unique_ptr<InverseHessian> by_cg(const Setting& s) {
  HessianProduct product(s.head, s.rows, s.theta, {.n = s.n(), .l2 = s.options.l2}, s.exec);
  const auto p = static_cast<double>(s.head.parameters());
  const double weights = p - static_cast<double>(s.head.intercepts().size());
  const Vector traces = product.row_traces();
  const double mean = (traces.sum() / s.n() + s.options.l2 * weights) / p;
  if (!std::isfinite(mean))
    throw Error(ErrorKind::numerical, "cg: the curvature is not finite");
  if (s.large()) return by_large_cg(s, std::move(product), mean);
  bool cached = false;
  Factor factor = cached_or(s, describe(s, "preconditioner", s.sample_size()), cached,
                            [&] { return preconditioner(s, traces, mean); });
  product.set_terms(
      {.n = s.n(), .l2 = s.options.l2, .gauge = mean, .damping = factor.damping});
  const double damping = factor.damping;
  const auto shared = std::make_shared<const HessianProduct>(std::move(product));
  const auto L = std::make_shared<const Matrix>(std::move(factor.L));
  return make_cg({.dim = shared->dim(),
                  .product = [shared](const Matrix& V) { return shared->apply(V); },
                  .precondition = [L](const Vector& v) -> Vector {
                    Eigen::MatrixXd z = v;
                    solve_factored(*L, z);
                    return z.col(0);
                  }},
                 {.tolerance = s.options.tolerance,
                  .max_iterations = s.options.max_iterations,
                  .damping = damping,
                  .cached = cached});
}

void validate_products(const Head& head, const CurvatureOptions& o, Solver solver) {
  require_option(o.l2 >= 0, "curvature", "l2", o.l2, ">= 0");
  require_option(o.rows_in_mean >= 0, "curvature", "rows_in_mean", o.rows_in_mean, ">= 0");
  require_option(o.tolerance > 0, "curvature", "tolerance", o.tolerance, "> 0");
  require_option(o.max_iterations > 0, "curvature", "max_iterations", o.max_iterations,
                 "> 0");
  require_option(o.lissa_scale >= 0 && std::isfinite(o.lissa_scale), "curvature",
                 "lissa_scale", o.lissa_scale, ">= 0");
  if (solver == Solver::cholesky) require_formable(head);
}

// The damping that is asked for, or the rule's.
double damping_of(const Head& head, const CurvatureOptions& o, const Spectrum& spectrum) {
  if (o.damping.damping >= 0) return o.damping.damping;
  if (head.linear() && o.l2 > 0 && !o.damping.external) return 0;
  return kProductsDampingShare * spectrum.mean;
}

// For any head, by products with J and J^T alone. Conjugate gradients are preconditioned
// by K-FAC here. The factor of H over drawn rows, which by_cg() uses, would need a matrix
// of all parameters.
std::unique_ptr<InverseHessian> by_products(const Head& head, const Rows& rows,
                                            const Vector& theta,
                                            const CurvatureOptions& options,
                                            const Exec& exec) {
  const Solver solver = options.solver != Solver::automatic  ? options.solver
                        : head.parameters() <= kAlwaysFormed ? Solver::cholesky
                                                             : Solver::cg;
  validate_products(head, options, solver);
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
    return make_lissa(std::move(product), {.scale = scale > 0 ? scale : 1,
                                           .tolerance = options.tolerance,
                                           .max_iterations = options.max_iterations});
  }
  Kfac kfac(head, rows, theta,
            {.n = product.terms().n,
             .l2 = options.l2,
             .most_blocks = solver == Solver::kfac ? 0 : kPreconditionerBlocks},
            exec);
  if (solver == Solver::kfac)
    return make_kfac(std::move(product), std::move(kfac), options.tolerance);
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

}  // namespace

std::unique_ptr<InverseHessian> make_inverse_hessian(const Head& head, const Rows& rows,
                                                     const Vector& theta,
                                                     const CurvatureOptions& options,
                                                     const Exec& exec) {
  (void)to_string(options.solver);  // throws for what is no enumerator
  const LinearHead* linear = head.as_linear();
  const bool needs_products =
      options.solver == Solver::lissa || options.solver == Solver::kfac;
  if (linear == nullptr || needs_products)
    return by_products(head, rows, theta, options, exec);
  const Setting setting{*linear, rows, theta, options, exec};
  validate(setting);
  const Solver solver = options.solver != Solver::automatic ? options.solver
                        : setting.large()                   ? Solver::cg
                                                            : cheaper(setting);
  if (solver == Solver::cg) return by_cg(setting);
  require_formable(head);
  return by_cholesky(setting);
}

std::string to_string(Solver solver) { return name_of(kSolvers, "solver", solver); }

Solver parse_solver(const std::string& name) {
  if (const std::optional<Solver> solver = find_name(kSolvers, name)) return *solver;
  throw Error(ErrorKind::bad_option, fmt::format("solver is {}", name),
              fmt::format("write {}", listed(kSolvers)));
}

std::unique_ptr<InverseHessian> make_cholesky(const Matrix& H,
                                              const DampingOptions& options) {
  return make_cholesky_solver(damped_factor(H, options), false);
}

bool solve_spd(Matrix A, Vector& b) {
  require_size("solve", "b", b.size(), A.rows());
  if (!factor_in_place(A)) return false;
  Eigen::MatrixXd x = b;
  solve_factored(A, x);
  if (!x.allFinite()) return false;
  b = x.col(0);
  return true;
}

}  // namespace fmd
