#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

// The trivial edits: what every repair must be compared with, and the method
// average-column. Of a network they change the first layer's weights or the last layer's.

// The given features replaced by their means over the rows: their weights become 0 and the
// intercepts take up weight x mean (rows' weights count). An attribute treated so has no
// flip gap at all. Throws Error(bad_option: no such feature, bad_shape, bad_data: no rows).
[[nodiscard]] Vector average_features(const Head& head, const Vector& theta,
                                      const Rows& rows, std::span<const Index> features,
                                      const Exec& exec);

// All logits divided by T: scores move towards 1/C, the most probable class stays. T > 0.
[[nodiscard]] Vector temper(const Head& head, const Vector& theta, double temperature);
// The T in [.05, 20] of least mean log loss on these rows, to 1e-9. Rows without a label
// are left out; Error(bad_data) when none has one.
[[nodiscard]] double best_temperature(const Head& head, const Vector& theta,
                                      const Rows& rows, const Exec& exec);

// One intercept moved so that the share `rate` of the rows has decision `cls` (two classes:
// by the threshold; more: by argmax), as near as ties allow; midway between the two rows
// that it parts. theta itself when it has this rate already. Throws Error(bad_option,
// bad_shape, bad_data).
[[nodiscard]] Vector shift_to_rate(const Head& head, const Vector& theta, const Rows& rows,
                                   double threshold, int cls, double rate,
                                   const Exec& exec);

}  // namespace fmd
