#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/metrics/interval.h"

namespace fmd::internal {

// value +- z times the spread of the replicates: for levels whose quantiles lie beyond all
// replicates. The ends are undefined where fewer than half of the replicates are defined.
[[nodiscard]] Interval from_spread(double value, const std::vector<double>& replicates,
                                   double confidence);

}  // namespace fmd::internal
