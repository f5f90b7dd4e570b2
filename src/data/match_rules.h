#pragma once

#include <string>

#include "fmd/data/task.h"

namespace fmd {

// What in the matching that an attribute asks for makes no sense; "" when all does.
[[nodiscard]] std::string match_contradiction(const Task& task, const AttributeSpec& spec);

// Columns, caliper and reuse of all attributes, where the overrides name them.
void set_match(Task& task, const TaskOverrides& overrides);

}  // namespace fmd
