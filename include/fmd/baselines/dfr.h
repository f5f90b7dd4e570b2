#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd {

// Deep feature reweighting (Kirichenko, Izmailov and Wilson 2023): the last layer is fitted
// again on rows in which every cell of label x group is equally frequent. Each of several
// draws takes as many rows of every cell as the smallest cell has, standardises the
// features on them, and fits a sparse logistic regression (sparse_logistic.h) with penalty
// 1 / (C rows). The parameters are converted back to the original features and averaged
// over the draws.
struct DfrOptions {
  double C = 1;  // > 0
  Index draws = 10;
};
// One output. group: per row of rows.X, -1 = left out. The draws depend on exec.seed alone.
// Throws Error(bad_option; bad_shape; bad_data: a label without rows).
[[nodiscard]] Vector fit_dfr(const LinearHead& head, const Rows& rows,
                             std::span<const std::int32_t> group, const DfrOptions& options,
                             const Exec& exec);
// The same for several C, in any order.
[[nodiscard]] std::vector<Vector> fit_dfr(const LinearHead& head, const Rows& rows,
                                          std::span<const std::int32_t> group,
                                          std::span<const double> C, Index draws,
                                          const Exec& exec);

}  // namespace fmd
