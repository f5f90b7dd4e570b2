#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"

namespace fmd::internal {

// True when the text fits the pattern: * stands for any text, all else for itself.
[[nodiscard]] bool fits_glob(std::string_view text, std::string_view pattern);

// True when the text fits one of the patterns.
[[nodiscard]] bool fits_any(std::string_view text,
                            const std::vector<std::string>& patterns);

}  // namespace fmd::internal
