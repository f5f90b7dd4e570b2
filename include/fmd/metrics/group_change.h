#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/scored.h"

namespace fmd {

// after - before of a group difference (rate(first) - rate(second)) on the same rows. rate:
// "selection_rate", "tpr", "fpr", "accuracy": by multinomial bootstrap on the table group x
// outcome before x outcome after, and all other rows; "mean_score": by bootstrap of the
// rows. Newcombe's interval does not fit here: it needs separate groups, and before and
// after are the same rows. Undefined where a group has no row that the rate is about.
// Throws Error (bad_shape, bad_option).
[[nodiscard]] Interval group_difference_change(const Scored& before, const Scored& after,
                                               const std::vector<std::int32_t>& code,
                                               int first, int second,
                                               const std::string& rate, double confidence,
                                               Index replicates, const Exec& exec);

}  // namespace fmd
