#pragma once

#include <string>
#include <string_view>

#include "core/internal.h"

namespace fmd::internal {

// The kernel to switch to; empty = change nothing. Only a wrongly detected "Prescott" is
// changed, never a kernel that the user asked for.
[[nodiscard]] inline std::string repair_kernel(std::string_view current, bool user_set,
                                               std::string_view best) {
  return current == "Prescott" && !user_set ? std::string(best) : std::string();
}

}  // namespace fmd::internal
