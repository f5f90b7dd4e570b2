#pragma once

#include <string>

#include "core/internal.h"
#include "fmd/formats/features_file.h"

namespace fmd::internal {

inline constexpr const char* kFeaturesKey = "fmd.features";

// The note as JSON text and back. features_note_from_json trusts nothing: it throws
// Error(bad_model) that names the source and the field.
[[nodiscard]] std::string to_json(const FeaturesNote& note);
[[nodiscard]] FeaturesNote features_note_from_json(const std::string& text,
                                                   const std::string& source);

}  // namespace fmd::internal
