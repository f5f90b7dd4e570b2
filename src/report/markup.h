#pragma once

#include <string>

#include "core/internal.h"

namespace fmd::internal {

// A text for XML and SVG, safe to show and escaped. XML 1.0 has no way to write most
// control characters; safe_text() leaves none.
[[nodiscard]] std::string xml_text(const std::string& text);

}  // namespace fmd::internal
