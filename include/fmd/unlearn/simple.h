#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

// The trivial edits: what every repair must be compared with, and the method average-column.

// The given features replaced by their means over the rows: their weights become 0 and the
// intercepts take up weight x mean. An attribute treated so has no flip gap at all.
[[nodiscard]] Vector average_features(const LinearHead& head, const Vector& theta, const Rows& rows,
                                      std::span<const Index> features, const Exec& exec);

// All logits divided by T.
[[nodiscard]] Vector temper(const LinearHead& head, const Vector& theta, double temperature);
// The T in [.05, 20] of least mean log loss on these rows.
[[nodiscard]] double best_temperature(const LinearHead& head, const Vector& theta, const Rows& rows,
                                      const Exec& exec);

// One intercept moved so that the share `rate` of the rows has decision `cls` (two classes: by the
// threshold; more: by argmax).
[[nodiscard]] Vector shift_to_rate(const LinearHead& head, const Vector& theta, const Rows& rows,
                                   double threshold, int cls, double rate, const Exec& exec);

}  // namespace fmd
