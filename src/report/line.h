#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/internal.h"
#include "fmd/report/sheet.h"

namespace fmd::internal {

// A paragraph whose words are formatted.
template <typename... Args>
void line(SheetSection& section, const std::string& lead, fmt::format_string<Args...> words,
          Args&&... args) {
  section.line(lead, fmt::format(words, std::forward<Args>(args)...));
}

}  // namespace fmd::internal
