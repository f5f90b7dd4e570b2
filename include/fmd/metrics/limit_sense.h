#pragma once

#include <string>

namespace fmd {

// What a limit on a measure means: sizes are at most the limit; ratios lie between it and
// 1 / limit; accuracies are at least the limit. It follows from the name alone, so readers
// of earlier audits need no measures.
enum class LimitSense { at_most, ratio, at_least };
[[nodiscard]] LimitSense limit_sense(const std::string& measure);

}  // namespace fmd
