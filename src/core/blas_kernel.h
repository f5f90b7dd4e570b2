#pragma once

#include <string>
#include <string_view>

#include "core/internal.h"

namespace fmd::internal {

// The kernel to switch to, or empty to change nothing: only a wrongly detected "Prescott"
// is changed, never what the user asked for.
[[nodiscard]] inline std::string repair_kernel(std::string_view current, bool user_set,
                                               std::string_view best) {
  return current == "Prescott" && !user_set ? std::string(best) : std::string();
}

}  // namespace fmd::internal
