#pragma once

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// Sums of the gradients w grad L over the rows.
struct LossGradients {
  Vector here;   // at theta
  Vector start;  // where the last layer is 0, so that all classes are equally likely
};

// One pass over the rows: change(i, j) = d(w L_i)/dz . J_i v_j for the columns v_j of v,
// and the sums above. Rows without a label or of weight 0 count 0. The bits are the same
// for any number of threads.
[[nodiscard]] LossGradients sweep_rows(const Head& head, const Rows& train,
                                       const Vector& theta, const Matrix& v, Matrix& change,
                                       const Exec& exec);

}  // namespace fmd::internal
