#pragma once

#include <span>
#include <string>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Looks at the first bytes: a safetensors file returns, anything else throws
// Error(unsupported) that names what it seems to be, or Error(bad_model) when it is nothing
// known.
void require_safetensors(std::span<const std::uint8_t> bytes, const std::string& source);

}  // namespace fmd::internal
