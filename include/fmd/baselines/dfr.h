#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

// Logistic regression with an l1 penalty: the minimum over w and the intercept b of
//   (1/n) sum_i log loss(x_i . w + b, y_i) + penalty |w|_1.
// By Newton's method on the loss with coordinate descent on each quadratic model. Stops
// when no optimality condition is violated by more than `tolerance`.
struct SparseLogistic {
  Vector w;
  double b = 0;
  int steps = 0;
  double violation = 0;  // of the optimality conditions
};
// X: rows x features, y: 0 or 1. start: an earlier answer, or a default one. Throws
// Error(bad_option, bad_shape, bad_data).
[[nodiscard]] SparseLogistic fit_sparse_logistic(const Matrix& X,
                                                 std::span<const std::int32_t> y,
                                                 double penalty,
                                                 const SparseLogistic& start = {},
                                                 double tolerance = 1e-8);

// Deep feature reweighting (Kirichenko, Izmailov and Wilson 2023): the last layer is fitted
// anew on rows in which every cell of label x group is equally frequent. For each of
// several draws: as many rows of every cell as the smallest one has, features standardised
// on them, sparse logistic regression with penalty 1 / (C rows). The parameters, turned
// back to the features as they are, are averaged over the draws.
struct DfrOptions {
  double C = 1;  // > 0
  Index draws = 10;
};
// One output. group: per row of rows.X, -1 = left out. Draws depend on exec.seed alone.
// Throws Error(bad_option; bad_shape; bad_data: a label without rows).
[[nodiscard]] Vector fit_dfr(const LinearHead& head, const Rows& rows,
                             std::span<const std::int32_t> group, const DfrOptions& options,
                             const Exec& exec);
// The same for several C, descending: each starts where the one before ended.
[[nodiscard]] std::vector<Vector> fit_dfr(const LinearHead& head, const Rows& rows,
                                          std::span<const std::int32_t> group,
                                          std::span<const double> C, Index draws,
                                          const Exec& exec);

}  // namespace fmd
