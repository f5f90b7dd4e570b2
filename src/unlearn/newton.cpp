#include "fmd/unlearn/newton.h"

#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "model/block_loss.h"
#include "unlearn/pair_check.h"

namespace fmd {
namespace {

void validate(const UnlearnOptions& o) {
  require_option(o.step_scale > 0 && std::isfinite(o.step_scale), "unlearn", "step_scale",
                 o.step_scale, "> 0");
  require_option(o.max_relative_step > 0, "unlearn", "max_relative_step",
                 o.max_relative_step, "> 0");
}

// Sum of w_i grad L_i. Where `weight` is not empty, entry i is also multiplied by its
// weight[i].
Vector gradient_sum(const Head& head, const Vector& theta, const Rows& rows,
                    std::span<const float> weight, const Exec& exec) {
  return reduce<ValueAndVector>(
             block_count(rows.size()), [&] { return empty_sum(head.parameters()); },
             [&](ValueAndVector& state, Index b) {
               Scratch scratch;
               Matrix z;
               Tape tape;
               const FeatureBlock block = rows.block(b, scratch);
               head.logits(block, theta, z, &tape);
               state.value += block_loss_gradient(rows, b * kBlockRows, z);
               for (Index i = 0; i < z.rows() && !weight.empty(); ++i)
                 z.row(i) *= weight[static_cast<std::size_t>(b * kBlockRows + i)];
               head.vjp(block, theta, tape, z, state.vector);
             },
             exec)
      .vector;
}

}  // namespace

Vector unlearn_gradient(const Head& head, const Vector& theta, const Rows& out,
                        const Exec& exec) {
  require_size("unlearn", "theta", theta.size(), head.parameters());
  if (out.X == nullptr)
    throw Error(ErrorKind::bad_shape, "unlearn: the rows have no features",
                "give the rows that are to be removed");
  require_size("unlearn", "a row", out.X->cols(), head.inputs());
  return gradient_sum(head, theta, out, {}, exec);
}

Vector unlearn_gradient(const Head& head, const Vector& theta,
                        std::span<const PairSet> pairs, const Exec& exec) {
  require_size("unlearn", "theta", theta.size(), head.parameters());
  require_pairs("unlearn", head, pairs);
  Vector g = Vector::Zero(head.parameters());
  for (const PairSet& set : pairs) {
    // Two sums of the same form, so that equal sides cancel to the bit.
    const Vector out = gradient_sum(head, theta, set.c, set.weight, exec);
    const Vector in = gradient_sum(head, theta, set.cbar, set.weight, exec);
    g += (out - in) / static_cast<double>(pairs.size());
  }
  return g;
}

UnlearnDirection unlearn_direction(const Vector& g, const InverseHessian& inverse) {
  require_size("unlearn", "the gradient", g.size(), inverse.dim());
  if (!g.allFinite())
    throw Error(ErrorKind::numerical, "unlearn: the gradient is not finite",
                "check the parameters and the features of the rows");
  const InverseResult solved = inverse.apply(g);
  return {.value = solved.x.col(0), .solve = solved.summary};
}

UnlearnResult newton_step(const Vector& theta, const Vector& g,
                          const InverseHessian& inverse, const UnlearnOptions& options) {
  validate(options);
  require_size("unlearn", "the gradient", g.size(), theta.size());
  if (inverse.dim() != theta.size())
    throw Error(ErrorKind::bad_shape,
                fmt::format("unlearn: theta has {} parameters but the curvature has {}",
                            theta.size(), inverse.dim()),
                "build the curvature from the same head as theta");
  const UnlearnDirection direction = unlearn_direction(g, inverse);
  double scale = options.step_scale;

  // An inexact solve still gives a usable step, so it is reported, not thrown.
  UnlearnResult result;
  result.summary.status =
      direction.solve.converged ? UnlearnStatus::done : UnlearnStatus::solver_not_converged;
  const double limit = options.max_relative_step * theta.norm();
  const double length = direction.value.norm();
  if (std::isfinite(limit) && scale * length > limit) {
    scale = limit / length;
    result.summary.status = UnlearnStatus::shortened;
  }
  result.theta = direction.step(theta, scale);
  result.summary.gradient_norm = g.norm();
  result.summary.step_norm = scale * length;
  result.summary.solve = direction.solve;
  return result;
}

UnlearnResult unlearn_rows(const Head& head, const Vector& theta, const Rows& out,
                           const InverseHessian& inverse, const UnlearnOptions& options,
                           const Exec& exec) {
  validate(options);
  UnlearnResult result =
      newton_step(theta, unlearn_gradient(head, theta, out, exec), inverse, options);
  result.summary.rows_out = out.size();
  return result;
}

UnlearnResult unlearn_pairs(const Head& head, const Vector& theta,
                            std::span<const PairSet> pairs, const InverseHessian& inverse,
                            const UnlearnOptions& options, const Exec& exec) {
  validate(options);
  UnlearnResult result =
      newton_step(theta, unlearn_gradient(head, theta, pairs, exec), inverse, options);
  for (const PairSet& set : pairs) {
    result.summary.rows_out += set.c.size();
    result.summary.rows_in += set.cbar.size();
  }
  return result;
}

std::string to_string(UnlearnStatus status) {
  switch (status) {
    case UnlearnStatus::not_run:
      return "not run";
    case UnlearnStatus::done:
      return "done";
    case UnlearnStatus::shortened:
      return "shortened";
    case UnlearnStatus::solver_not_converged:
      return "solver not converged";
  }
  return "";
}

std::string UnlearnSummary::brief() const {
  if (status == UnlearnStatus::not_run) return "not run";
  return fmt::format(
      "{}: {} rows out, {} in, |gradient| {:.3g}, |step| {:.3g}; {} residual {:.1e}, "
      "damping {:.2g}",
      to_string(status), rows_out, rows_in, gradient_norm, step_norm, solve.solver,
      solve.residual, solve.damping);
}

}  // namespace fmd
