#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Where `ranges` ranges with equal shares begin. Each cut is one of the given numbers and
// has at least one number below it. There are fewer cuts where equal numbers do not allow
// more.
[[nodiscard]] std::vector<double> quantile_cuts(std::vector<double> numbers, Index ranges);

// "under 25", "25 to 45", "45 and over".
[[nodiscard]] std::vector<std::string> range_names(const std::vector<double>& cuts);

}  // namespace fmd::internal
