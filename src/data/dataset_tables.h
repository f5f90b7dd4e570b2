#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// The published files' texts as tables with readable values.
[[nodiscard]] Table adult_table(const std::vector<std::string>& texts);  // .data, .test
[[nodiscard]] Table german_table(const std::string& text);
[[nodiscard]] Table acs_table(const std::string& text);

}  // namespace fmd::internal
