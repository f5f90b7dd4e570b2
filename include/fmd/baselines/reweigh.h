#pragma once

#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd {

// Methods that give training rows other weights. The model is then trained again.

// Kamiran and Calders 2012: w(g, y) = P(g) P(y) / P(g, y), so that group and label are
// independent under the weights. One weight per row; 1 for rows whose label or group is not
// known (-1). Throws Error(bad_shape; bad_data: no row has both).
[[nodiscard]] std::vector<float> reweighing_weights(std::span<const std::int32_t> y,
                                                    std::span<const std::int32_t> group);

// Li and Liu 2022: weights in [0, 1] from influence. g_i is the loss gradient of training
// row i, H the Hessian of the summed training loss, U the summed log loss of the validation
// rows, and F their fairness loss. Then
//   f_i = g_i . H^-1 grad F,   u_i = g_i . H^-1 grad U
// predict the change of F and of U when row i is removed. The removed shares x in [0, 1]^n
// solve
//   min sum x_i   s.t.  f.x <= -beta F,  u.x <= gamma sum min(u_i, 0)   if F can be undone,
//   min f.x       s.t.  u.x <= 0,        sum x_i <= alpha n             otherwise,
// and the weights are 1 - x. The sign of F is chosen so that F >= 0 at theta.
struct InfluenceWeightsOptions {
  // equal_opportunity: mean log loss of the favourable label in one group minus that in the
  // other; demographic_parity: difference of the mean favourable scores.
  std::string fairness = "equal_opportunity";
  double alpha = 0.1;  // in [0, 1]
  double beta = 0.5;   // in [0, 1]
  double gamma = 0.2;  // in [0, 1]
  double l2 = 0;       // of the training objective
  int favorable = 1;
};

struct InfluenceWeights {
  std::vector<float> weight;  // per training row
  Vector fairness, utility;   // f and u
  double fairness_loss = 0;   // F at theta
  double removed = 0;         // sum of x
  bool undone = false;        // the first program was solved
};

// One output, groups 0 and 1 (-1: not known; such validation rows count in U alone). group:
// per row of validation.X. Throws Error(bad_option, bad_shape; bad_data: a group without
// the rows that F needs).
[[nodiscard]] InfluenceWeights influence_weights(const LinearHead& head,
                                                 const Vector& theta, const Rows& train,
                                                 const Rows& validation,
                                                 std::span<const std::int32_t> group,
                                                 const InfluenceWeightsOptions& options,
                                                 const Exec& exec);

}  // namespace fmd
