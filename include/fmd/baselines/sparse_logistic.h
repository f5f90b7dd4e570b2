#pragma once

#include <cstdint>
#include <span>

#include "fmd/core/types.h"

namespace fmd {

// Logistic regression with an l1 penalty: the minimum over w and the intercept b of
//   (1/n) sum_i log loss(x_i . w + b, y_i) + penalty |w|_1.
// Newton's method on the loss, with coordinate descent on each quadratic model. It stops
// when no optimality condition is violated by more than `tolerance`.
struct SparseLogistic {
  Vector w;
  double b = 0;
  int steps = 0;         // Newton steps that were tried
  double violation = 0;  // of the optimality conditions
};
// X: rows x features, y: 0 or 1. start: an earlier result; a default one starts at 0.
// Throws Error(bad_option, bad_shape, bad_data).
[[nodiscard]] SparseLogistic fit_sparse_logistic(const Matrix& X,
                                                 std::span<const std::int32_t> y,
                                                 double penalty,
                                                 const SparseLogistic& start = {},
                                                 double tolerance = 1e-8);

}  // namespace fmd
