#pragma once

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
//   J(theta) = anchor * mean KL(p_old || p_theta) over the rows    stay close; needs no
//   labels
//            + fit    * mean [ 1/2 CE(c) + 1/2 CE(cbar) ]          labels on the pairs
//            + lambda * mean |p(c) - p(cbar)|^2 (all classes)      the bias itself, squared
//            + sum_k gamma_k (soft group gap_k)^2                  on request
//            + mu/2 |theta - theta0|^2                             in standardised features
//
// Means over pairs are weighted; sets of several attributes count 1/A each.
// Weights of rows count in the means over rows. For heads of up to max_dense parameters the
// Gauss-Newton matrix is formed and factored; near the minimum conjugate gradients on
// products with the exact second derivatives take over, with that factor as preconditioner.
// Larger heads use products only, as do heads with hidden layers, whose J has many minima:
// there only Gauss-Newton's products are used, preconditioned layer by layer, and forward
// passes are kept while they fit into 256 MB. The damping scales the curvature of what
// holds theta in place (anchor, fit, mu), not that of what pulls, so that a large lambda
// slows nothing down. J falls with every step that is taken; a step to a value that is not
// finite is not taken.

// gamma gap^2 for a measure on rows: demographic_parity_soft and its kin, with two groups.
struct GapPenalty {
  std::shared_ptr<const BiasMeasure> measure;
  double gamma = 0;                 // >= 0
  std::vector<std::int32_t> group;  // per row of rows.X
};

struct SolveOptions {
  double anchor = 1;  // >= 0
  double fit = 0;     // >= 0; needs labels
  double lambda = 1;  // >= 0
  double mu = 0;      // >= 0
  std::vector<GapPenalty> gaps;
  double tolerance =
      1e-8;  // stop when |grad J| <= this * max(1, first |grad J|) and the next step
             // is predicted to lower J by less than 1e-13 of it, or J stalls
  int max_iterations = 100;
  double min_fall = 0;     // stop after a step that lowered J by less than this share of it
  double damping = 0.1;    // first damping, relative to the curvature that holds theta; > 0
  Index max_dense = 2000;  // most parameters for which the matrix is formed
};

enum class SolveStatus {
  not_run,
  converged,  // by the tolerance
  stalled,    // J cannot be lowered any more in double precision
  stopped,    // at max_iterations, or by min_fall
};

struct SolveSummary {
  SolveStatus status = SolveStatus::not_run;
  int iterations = 0;          // steps tried
  int factorisations = 0;      // Gauss-Newton matrices that were formed
  double objective = 0;        // J at the result
  double start_objective = 0;  // J at the start
  double gradient = 0;         // |grad J| at the result / max(1, the first)
};

struct SolveResult {
  Vector theta;
  SolveSummary summary;
};

// start: a warm start, e.g. Path::theta(lambda); empty = theta0 (also where J is not finite
// at start). p_old is theta0's. rows may be empty when anchor is 0 and there are no gaps.
// Throws Error(bad_option, bad_shape, bad_data: fit without labels).
[[nodiscard]] SolveResult solve(const Head& head, const Vector& theta0, const Rows& rows,
                                   std::span<const PairSet> pairs,
                                   const SolveOptions& options, const Exec& exec,
                                   const Vector& start = {});

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
