#pragma once

#include <string>

#include "fmd/data/task.h"

namespace fmd {

// flip, given:FILE, match or match:BY
inline constexpr const char* kPairs =
    "flip, given:FILE, match, match:overlap, match:mahalanobis or match:cosine";
[[nodiscard]] bool is_pairs(const std::string& pairs);

// 2 to 100.
[[nodiscard]] bool are_quantiles(Index quantiles);
// 1 to 99 finite numbers that ascend.
[[nodiscard]] bool are_cuts(const std::vector<double>& cuts);

// What in the attribute's values, quantiles and cuts contradicts itself; "" when nothing.
[[nodiscard]] std::string range_contradiction(const AttributeSpec& spec);

// What in the task contradicts itself; "" when nothing does.
[[nodiscard]] std::string contradiction(const Task& task);

}  // namespace fmd
