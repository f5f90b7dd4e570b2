#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd {

// Minimises over the head, by Levenberg-Marquardt on the Gauss-Newton matrix,
//
//   J(theta) = anchor * mean KL(p_old || p_theta) over the rows   stay close; no labels
//            + fit    * mean [ 1/2 CE(c) + 1/2 CE(cbar) ]         labels on the pairs
//            + lambda * mean |p(c) - p(cbar)|^2 (all classes)     the bias itself, squared
//            + sum_k gamma_k (soft group gap_k)^2                 on request
//            + mu/2 |theta - theta0|^2                            in standardised features
//
// Means over pairs are weighted; the sets of A attributes count 1/A each. Means over rows
// are weighted too.
//
// Linear heads of up to max_dense parameters: the Gauss-Newton matrix is formed and
// factored. Near the minimum, conjugate gradients on products with the exact second
// derivatives take over; the factor is their preconditioner. Larger linear heads use
// products only. Heads with hidden layers have a J with many minima: they use products with
// the Gauss-Newton matrix only, preconditioned layer by layer, and keep their forward
// passes while these fit into 256 MB.
//
// The damping scales the curvature of what holds theta in place (anchor, fit, mu), not of
// what pulls, so a large lambda does not slow the iteration down. J falls with every
// iteration that changes theta. A change that makes J infinite or NaN is not made.

// gamma gap^2 for a measure on rows: demographic_parity_soft, equal_opportunity_soft or
// false_positive_soft. It takes two groups or more; bias_measure.h says what the gap of
// more than two is.
struct GapPenalty {
  std::shared_ptr<const BiasMeasure> measure;
  double gamma = 0;                 // >= 0
  std::vector<std::int32_t> group;  // per row of rows.X; -1 = in no group
};

struct SolveOptions {
  double anchor = 1;  // >= 0
  double fit = 0;     // >= 0; needs labels
  double lambda = 1;  // >= 0
  double mu = 0;      // >= 0
  std::vector<GapPenalty> gaps;
  // Stops when |grad J| <= this * max(1, first |grad J|) and the next iteration is
  // predicted to lower J by less than 1e-13 of its value, or when J stalls. Must be > 0.
  double tolerance = 1e-8;
  int max_iterations = 100;
  double min_fall = 0;     // stops when an iteration lowers J by less than this share of it
  double damping = 0.1;    // first damping, relative to the curvature that holds theta; > 0
  Index max_dense = 2000;  // most parameters for which the matrix is formed
};

enum class SolveStatus {
  not_run,
  converged,  // by the tolerance
  stalled,    // J cannot be lowered any more in double precision
  stopped,    // by max_iterations or min_fall
};

struct SolveSummary {
  SolveStatus status = SolveStatus::not_run;
  int iterations = 0;          // changes of theta that were tried
  int factorisations = 0;      // Gauss-Newton matrices that were formed
  double objective = 0;        // J at the result
  double start_objective = 0;  // J at the start
  double gradient = 0;         // |grad J| at the result / max(1, the first)
};

struct SolveResult {
  Vector theta;
  SolveSummary summary;
};

// start: a warm start, e.g. Path::theta(lambda). Empty means theta0. theta0 also replaces a
// start where J is not finite. p_old are the scores of theta0. rows may be empty when
// anchor is 0 and there are no gaps. Throws Error(bad_option, bad_shape, bad_data: fit
// without labels, numerical: J is not finite at theta0).
[[nodiscard]] SolveResult solve(const Head& head, const Vector& theta0, const Rows& rows,
                                std::span<const PairSet> pairs, const SolveOptions& options,
                                const Exec& exec, const Vector& start = {});

// Solves of one problem that differ in lambda alone. What does not depend on lambda is
// prepared once, and the curvature of one solve preconditions the next. The arguments must
// outlive it. Throws what solve() throws.
class SolveSeries {
 public:
  SolveSeries(const Head& head, const Vector& theta0, const Rows& rows,
              std::span<const PairSet> pairs, const SolveOptions& options,
              const Exec& exec);
  ~SolveSeries();
  SolveSeries(const SolveSeries&) = delete;
  SolveSeries& operator=(const SolveSeries&) = delete;

  [[nodiscard]] SolveResult solve(double lambda, const Vector& start = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// J and its gradient, for tests and reports.
struct SolveObjective {
  double value = 0;
  Vector gradient;
};
[[nodiscard]] SolveObjective solve_objective(const Head& head, const Vector& theta0,
                                             const Rows& rows,
                                             std::span<const PairSet> pairs,
                                             const SolveOptions& options,
                                             const Vector& theta, const Exec& exec);

}  // namespace fmd
