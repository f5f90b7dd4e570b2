#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "formats/document.h"

namespace fmd::internal {

// Universal Binary JSON, draft 12, with the place of every value. Every count is checked
// against the bytes that are left. Throws Error(bad_model) that names the source and the
// byte.
[[nodiscard]] DocumentValue parse_ubjson(std::span<const std::uint8_t> bytes,
                                         const std::string& source);
// The place of a number is that of its bytes, without the type before them.
void each_ubjson(std::span<const std::uint8_t> bytes, const DocumentValue& numbers,
                 const Document::Visit& visit);

}  // namespace fmd::internal
