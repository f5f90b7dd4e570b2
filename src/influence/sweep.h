#pragma once

#include "fmd/core/exec.h"
#include "fmd/model/head.h"

namespace fmd {

// Sums of the rows' gradients w grad L.
struct LossGradients {
  Vector here;   // at theta
  Vector start;  // where the last layer is 0: every class is as likely as any other
};

// One pass over the rows: change(i, j) = d(w L_i)/dz . J_i v_j for the columns v_j of v,
// and the sums above. Rows without a label or a weight count 0. Same bits for any number of
// threads.
[[nodiscard]] LossGradients sweep_rows(const Head& head, const Rows& train,
                                       const Vector& theta, const Matrix& v, Matrix& change,
                                       const Exec& exec);

}  // namespace fmd
