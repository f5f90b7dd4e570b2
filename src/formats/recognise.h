#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Looks at the first bytes and returns for a safetensors file. Any other file throws
// Error(unsupported) that names what it seems to be, or Error(bad_model) when its kind is
// not known.
void require_safetensors(std::span<const std::uint8_t> bytes, const std::string& source);

}  // namespace fmd::internal
