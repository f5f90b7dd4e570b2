#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/data/task.h"

namespace fmd::internal {

// flip, given:FILE, column:NAME, images, match or match:BY
inline constexpr const char* kPairs =
    "flip, given:FILE, column:NAME, images, match, match:overlap, match:mahalanobis or "
    "match:cosine";

// 2 to 100.
[[nodiscard]] bool are_quantiles(Index quantiles);
// 1 to 99 finite numbers that ascend.
[[nodiscard]] bool are_cuts(const std::vector<double>& cuts);

// What contradicts itself in the attribute's values, quantiles and cuts; "" when nothing
// does.
[[nodiscard]] std::string range_contradiction(const AttributeSpec& spec);

// What contradicts itself in the task; "" when nothing does.
[[nodiscard]] std::string contradiction(const Task& task);

}  // namespace fmd::internal
