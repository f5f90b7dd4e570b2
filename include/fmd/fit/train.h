#pragma once

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"

namespace fmd {

class LinearHead;
struct Rows;

struct TrainOptions {
  double l2 = -1;                   // of F; -1 = 1/n (scikit-learn's C = 1)
  double relative_gradient = 1e-8;  // stop when |grad F| <= this |grad F(0)|
  int max_iterations = 200;
  double rows_in_mean = 0;       // n of F; 0 = rows.size()
  Index max_dense = kMostDense;  // most parameters for which the Hessian is formed
};

enum class TrainStatus { not_run, converged, stopped };

struct TrainSummary {
  TrainStatus status = TrainStatus::not_run;
  int iterations = 0;      // gradient passes over the rows
  int factorisations = 0;  // Hessians that were formed, or whose products were used
  double objective = 0;
  double relative_gradient = 0;
  double l2 = 0;  // as used
};

struct TrainResult {
  Vector theta;
  TrainSummary summary;
};

// The minimum of F for a linear head, by Newton's method: the first steps use a part of the
// rows, the other steps use the gradient of all rows. The Hessian is formed again only when
// the old one no longer helps. With more than max_dense parameters it is never formed: each
// step solves with products alone, by conjugate gradients. F is convex, so the answer does
// not depend on `start` beyond the tolerance. start empty = zeros. Throws Error(bad_shape,
// bad_data: no rows, or a label that is unknown).
[[nodiscard]] TrainResult train_linear(const LinearHead& head, const Rows& rows,
                                       const TrainOptions& options, const Exec& exec,
                                       const Vector& start = {});

}  // namespace fmd
