#pragma once

#include <string>

#include "fmd/data/task.h"

namespace fmd {

// flip or given:FILE
[[nodiscard]] bool is_pairs(const std::string& pairs);

// What in the task contradicts itself; "" when nothing does.
[[nodiscard]] std::string contradiction(const Task& task);

}  // namespace fmd
