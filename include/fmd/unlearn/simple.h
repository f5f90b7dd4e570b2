#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd {

// The trivial edits: every repair must be compared with them. One of them is the method
// average-column. In a network they change the weights of the first or of the last layer.

// Replaces the given features by their weighted means over the rows: their weights in theta
// become 0, and the intercepts grow by weight x mean. After that an attribute of these
// features has no flip gap at all. Throws Error(bad_option: no such feature, bad_shape,
// bad_data: no rows).
[[nodiscard]] Vector average_features(const Head& head, const Vector& theta,
                                      const Rows& rows, std::span<const Index> features,
                                      const Exec& exec);

// Divides all logits by T > 0. For T > 1 the scores move towards 1/C. The most probable
// class stays.
[[nodiscard]] Vector temper(const Head& head, const Vector& theta, double temperature);
// The T in [.05, 20] with the lowest mean log loss on these rows, to a relative 1e-9. Rows
// without a label are left out. Throws Error(bad_data) when no row has one.
[[nodiscard]] double best_temperature(const Head& head, const Vector& theta,
                                      const Rows& rows, const Exec& exec);

// Moves one intercept so that the share `rate` of the rows has the decision `cls` (two
// classes: by the threshold; more: by argmax), as near as ties allow. The shift is midway
// between the two rows that it separates. Returns theta itself when it already has this
// rate. Throws Error(bad_option, bad_shape, bad_data).
[[nodiscard]] Vector shift_to_rate(const Head& head, const Vector& theta, const Rows& rows,
                                   double threshold, int cls, double rate,
                                   const Exec& exec);

}  // namespace fmd
