#pragma once

#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/model/head.h"

namespace fmd {

// Which training rows a bias depends on: the predicted change of a measure B when a
// training row k is left out (Eq. 5-6, 10-11),
//
//   dB_k = +(w_k/n) grad L_k . H^-1 grad B = (w_k/n) (p_k - e_y) . J_k v
//   v    = H^-1 grad B.
//
// Cost: one solve for each measure, and one pass over the rows for all of them. No gradient
// of a row is ever stored. dB_k < 0: row k makes the gap larger. dB_k > 0: row k makes it
// smaller. With hidden layers H is the damped Gauss-Newton matrix, and the head is seldom
// at an optimum. Then the changes order the rows, but their sizes are only indicative.

// A measure with the data on which it is taken. Group gaps have a sign; influence()
// explains the size of the gap, |B|. Otherwise the answer to "which rows raise the gap?"
// would depend on which group comes first.
struct BiasTarget {
  const BiasMeasure* measure = nullptr;
  MeasureData data;
};

struct InfluenceOptions {
  CurvatureOptions curvature = {};  // l2 and rows_in_mean of F, solver, damping
  // H is taken over these rows instead of the training rows (D_ex; set
  // curvature.damping.external). X null = the training rows.
  Rows curvature_rows = {};
};

struct InfluenceResult {
  std::vector<double> value;  // |B| of each target at theta
  Matrix change;              // rows x targets: predicted change of |B| without the row
  InverseSummary solve;
  double relative_gradient = 0;  // |grad F| at theta / |grad F| where the last layer is 0

  // Above 1e-3 the head is not at an optimum of F, and the changes are only indicative.
  [[nodiscard]] bool at_optimum() const { return relative_gradient <= 1e-3; }
};

// `train` has labels; an entry with y = -1 or weight 0 gets change 0. Throws
// Error(bad_shape, bad_data, bad_option, numerical).
[[nodiscard]] InfluenceResult influence(const Head& head, const Rows& train,
                                        const Vector& theta,
                                        const std::vector<BiasTarget>& targets,
                                        const InfluenceOptions& options, const Exec& exec);

// |B| and its gradient with respect to theta.
[[nodiscard]] MeasureValue gap_of(const BiasTarget& target, const Head& head,
                                  const Vector& theta, bool gradient, const Exec& exec);

}  // namespace fmd
