#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "formats/catboost/catboost_model.h"

namespace fmd::internal {

// A file that save_model(..., format="json") wrote. Throws Error(bad_model) that names the
// place.
[[nodiscard]] CatboostModel read_catboost_json(std::span<const std::uint8_t> bytes,
                                               const std::string& source);

}  // namespace fmd::internal
