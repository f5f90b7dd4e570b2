#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "formats/catboost/catboost_model.h"

namespace fmd::internal {

// A .cbm file: "CBM1", a flatbuffer, and tables of counts, each with its length before it.
// Throws Error(bad_model) that names the byte.
[[nodiscard]] CatboostModel read_catboost_binary(std::span<const std::uint8_t> bytes,
                                                 const std::string& source);

}  // namespace fmd::internal
