#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "formats/document.h"

namespace fmd::internal {

// A JSON text with the place of every value. Takes NaN, Infinity and -Infinity too: tree
// libraries write them. Throws Error(bad_model) that names the source and the byte.
[[nodiscard]] DocumentValue parse_json_places(std::span<const std::uint8_t> bytes,
                                              const std::string& source);
void each_json(std::span<const std::uint8_t> bytes, const DocumentValue& numbers,
               const Document::Visit& visit);

}  // namespace fmd::internal
