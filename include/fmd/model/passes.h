#pragma once

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

// Passes of a head over rows, on the pool, with the same bits for any number of threads.
// All throw Error(bad_shape) when theta or the rows do not fit the head.
namespace fmd {

// Logits of every entry (size x outputs).
[[nodiscard]] Matrix all_logits(const Head& head, const Rows& rows, const Vector& theta,
                                const Exec& exec);
// J v of every entry (size x outputs): how the logits change with theta along v.
[[nodiscard]] Matrix all_jvp(const Head& head, const Rows& rows, const Vector& theta,
                             const Vector& v, const Exec& exec);
// Probabilities by the head's link, of all classes of every entry (size x classes).
[[nodiscard]] Matrix all_probabilities(const Head& head, const Rows& rows,
                                       const Vector& theta, const Exec& exec);

// dz / dx_j of every entry (size x outputs): how the logits change with feature j.
[[nodiscard]] Matrix all_input_slopes(const Head& head, const Rows& rows,
                                      const Vector& theta, Index feature, const Exec& exec);

struct Objective {
  double value = 0;  // F
  Vector gradient;
};

// F(theta) = (1/n) sum_i w_i L_i + (l2/2) |theta without intercepts|^2 and its gradient. n
// is the number of rows of the original training set: rows_in_mean, or rows.size() when 0.
[[nodiscard]] Objective objective(const Head& head, const Rows& rows, const Vector& theta,
                                  double l2, double rows_in_mean, const Exec& exec);

// l2 theta[j] for weights, 0 for intercepts, of every layer.
[[nodiscard]] Vector ridge_gradient(const Head& head, const Vector& theta, double l2);

}  // namespace fmd
