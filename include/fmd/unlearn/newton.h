#pragma once

#include <limits>
#include <span>
#include <string>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd {

// One Newton step that takes back what a head learned from given rows.
//
// With theta = argmin (1/n) sum_i w_i L(z_i, theta) + ridge and H the Hessian of that mean,
//
//   theta_new = theta + s H^-1 g,   g = sum_out w grad L - sum_in w grad L
//
//   Eq. 7   out = harmful training rows   in = none
//   Eq. 8   out = harmful training rows   in = the same rows with the attribute changed
//   Eq. 9   out = external rows c_i       in = their counterfactuals cbar_i
//
// Eq. 8 and 9 differ only in where the pairs come from, so one function serves both.
// unlearn_gradient() makes g, unlearn_direction() H^-1 g, and UnlearnDirection::step()
// theta_new. The debias command and the paper's tables call these: one H^-1 g serves all s
// (src/repair/newton_candidates.cpp, src/repro/edits.cpp). Nothing is modified: the new
// parameters are in the result. On a quadratic loss, the step with s = 1/n and H over the
// rows that stay, divided by the original n, gives the optimum without the rows. On other
// losses it is the first order of that change. Softmax: the class sums of g are 0, so the
// gauge term of H has no effect.

struct UnlearnOptions {
  // Factor s on the step, required. 1/n is the first-order effect of really removing the
  // rows from a training set of n; 1 is the equation as printed, which overshoots by about
  // n. Must be > 0.
  double step_scale = 0;

  // Shortens the step so that |theta_new - theta| <= this * |theta|. It protects heads
  // whose H is nearly singular. Must be > 0; inf is off.
  double max_relative_step = std::numeric_limits<double>::infinity();
};

enum class UnlearnStatus {
  not_run,               // a default summary never looks like a success
  done,                  // the full step was taken
  shortened,             // max_relative_step was active
  solver_not_converged,  // the step was taken; see summary.solve
};

struct UnlearnSummary {
  UnlearnStatus status = UnlearnStatus::not_run;
  Index rows_out = 0;  // entries, also those of weight 0
  Index rows_in = 0;
  double gradient_norm = 0;  // |g|
  double step_norm = 0;      // |theta_new - theta|
  InverseSummary solve;

  [[nodiscard]] std::string brief() const;  // one line for logs and the report
};

struct UnlearnResult {
  Vector theta;
  UnlearnSummary summary;
};

// g for rows that are removed (Eq. 7): sum of w_i grad L_i. Rows of weight 0 need no label.
// Throws Error(bad_shape, bad_data: a label that is unknown).
[[nodiscard]] Vector unlearn_gradient(const Head& head, const Vector& theta,
                                      const Rows& out, const Exec& exec);

// g for pairs (Eq. 8, 9): sum of w_i (grad L(c_i) - grad L(cbar_i)), where w_i is the
// weight of the pair times the weight of the row. The sets of A attributes count 1/A each.
// g is exactly 0 where c and cbar are the same. Throws Error(bad_shape, bad_data).
[[nodiscard]] Vector unlearn_gradient(const Head& head, const Vector& theta,
                                      std::span<const PairSet> pairs, const Exec& exec);

// H^-1 g: all that a step of any scale needs.
struct UnlearnDirection {
  Vector value;
  InverseSummary solve;

  // theta + s H^-1 g.
  [[nodiscard]] Vector step(const Vector& theta, double s) const {
    return theta + s * value;
  }
};
// Cost: one solve. Throws Error(bad_shape, numerical: g is not finite).
[[nodiscard]] UnlearnDirection unlearn_direction(const Vector& g,
                                                 const InverseHessian& inverse);

// The mechanism behind all three equations: theta + s H^-1 g for any g, also the gradient
// of your own loss. Cost: one solve. Throws Error(bad_option, bad_shape, numerical: g is
// not finite).
[[nodiscard]] UnlearnResult newton_step(const Vector& theta, const Vector& g,
                                        const InverseHessian& inverse,
                                        const UnlearnOptions& options);

// Eq. 7. Cost: one pass over the rows and one solve.
[[nodiscard]] UnlearnResult unlearn_rows(const Head& head, const Vector& theta,
                                         const Rows& out, const InverseHessian& inverse,
                                         const UnlearnOptions& options, const Exec& exec);

// Eq. 8 and Eq. 9. Cost: one pass over each side of the pairs, and one solve for any number
// of pairs.
[[nodiscard]] UnlearnResult unlearn_pairs(const Head& head, const Vector& theta,
                                          std::span<const PairSet> pairs,
                                          const InverseHessian& inverse,
                                          const UnlearnOptions& options, const Exec& exec);

[[nodiscard]] std::string to_string(UnlearnStatus status);

}  // namespace fmd
