#include "fmd/curvature/inverse_hessian.h"

#include <algorithm>

#include "core/check.h"
#include "curvature/cg.h"
#include "curvature/factor_cache.h"
#include "fmd/curvature/hessian.h"
#include "model/sample.h"

namespace fmd {
namespace {

constexpr Index kPreconditionerRows = 4000;
constexpr double kExpectedSteps = 25;  // of cg, for the choice of the solver

struct Setting {
  const LinearHead& head;
  const Rows& rows;
  const Vector& theta;
  const CurvatureOptions& options;
  const Exec& exec;

  [[nodiscard]] double n() const {
    return options.rows_in_mean > 0 ? options.rows_in_mean
                                    : static_cast<double>(rows.size());
  }
  [[nodiscard]] Index sample_size() const {
    const Index wanted = options.preconditioner_rows > 0
                             ? options.preconditioner_rows
                             : std::max(kPreconditionerRows, 2 * head.parameters());
    return std::min(wanted, rows.size());
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
  require_size("curvature", "theta", s.theta.size(), s.head.parameters());
  if (s.rows.X == nullptr || s.rows.size() == 0)
    throw Error(ErrorKind::bad_data, "curvature: there are no rows",
                "give at least one row");
  require_size("curvature", "a row of features", s.rows.X->cols(), s.head.inputs());
}

// Multiply-adds of both ways, by the entries of the first block's rows.
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
  const double pass = 2 * static_cast<double>(s.rows.size()) * entries * outputs;
  const double by_cg = matrix(s.sample_size()) + kExpectedSteps * (pass + p * p);
  return by_cg < matrix(s.rows.size()) ? Solver::cg : Solver::cholesky;
}

// What the factor depends on besides rows and theta.
std::string describe(const Setting& s, const char* kind, Index rows) {
  const CurvatureOptions& o = s.options;
  return fmt::format("{} outputs {} rows {} n {:a} l2 {:a} damping {:a} external {}", kind,
                     s.head.outputs(), rows, s.n(), o.l2, o.damping.damping,
                     o.damping.external);
}

struct Found {
  Factor factor;
  bool cached = false;
};

template <typename Make>
Found cached_or(const Setting& s, const std::string& rest, const Make& make) {
  const std::filesystem::path& folder = s.options.cache;
  if (folder.empty()) return {make(), false};
  const Hash key = factor_key(s.rows, s.theta, rest, s.exec);
  if (std::optional<Factor> found = find_factor(folder, key))
    return {std::move(*found), true};
  Found made{make(), false};
  keep_factor(folder, key, made.factor);
  return made;
}

std::unique_ptr<InverseHessian> by_cholesky(const Setting& s) {
  Found found = cached_or(s, describe(s, "cholesky", s.rows.size()), [&] {
    const HessianOptions options{.l2 = s.options.l2, .rows_in_mean = s.n()};
    return damped_factor(hessian(s.head, s.rows, s.theta, options, s.exec),
                         s.options.damping);
  });
  return make_cholesky(std::move(found.factor), found.cached);
}

std::unique_ptr<InverseHessian> by_cg(const Setting& s) {
  const Index count = s.sample_size();
  Found found = cached_or(s, describe(s, "preconditioner", count), [&] {
    const std::vector<Index> numbers = sample_rows(s.rows, count);
    const Rows sample{s.rows.X, s.rows.y, s.rows.weight, numbers};
    const double share = static_cast<double>(count) / static_cast<double>(s.rows.size());
    const HessianOptions options{.l2 = s.options.l2, .rows_in_mean = s.n() * share};
    return damped_factor(hessian(s.head, sample, s.theta, options, s.exec),
                         s.options.damping);
  });
  const Factor& factor = found.factor;
  // A sample may miss what only some rows tell: with ridge, H itself needs no damping.
  const bool by_rule = s.options.damping.damping < 0 && !s.options.damping.external;
  const double damping = by_rule && s.options.l2 > 0 ? 0 : factor.damping;
  const double gauge =
      s.head.outputs() == 1
          ? 0
          : (factor.H.trace() / static_cast<double>(factor.H.rows()) - factor.damping);
  HessianProduct product(
      s.head, s.rows, s.theta,
      {.n = s.n(), .l2 = s.options.l2, .gauge = gauge, .damping = damping}, s.exec);
  return make_cg(std::move(product), std::move(found.factor.L),
                 {.tolerance = s.options.tolerance,
                  .max_iterations = s.options.max_iterations,
                  .damping = damping,
                  .rcond = found.factor.rcond,
                  .cached = found.cached});
}

}  // namespace

std::unique_ptr<InverseHessian> make_inverse_hessian(const LinearHead& head,
                                                     const Rows& rows, const Vector& theta,
                                                     const CurvatureOptions& options,
                                                     const Exec& exec) {
  const Setting setting{head, rows, theta, options, exec};
  validate(setting);
  const Solver solver =
      options.solver == Solver::automatic ? cheaper(setting) : options.solver;
  return solver == Solver::cg ? by_cg(setting) : by_cholesky(setting);
}

std::string to_string(Solver solver) {
  switch (solver) {
    case Solver::automatic:
      return "auto";
    case Solver::cholesky:
      return "cholesky";
    case Solver::cg:
      return "cg";
  }
  return "";
}

Solver parse_solver(const std::string& name) {
  for (const Solver solver : {Solver::automatic, Solver::cholesky, Solver::cg})
    if (name == to_string(solver)) return solver;
  throw Error(ErrorKind::bad_option, fmt::format("solver is {}", name),
              "write auto, cholesky or cg");
}

}  // namespace fmd
