#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fmd/core/types.h"

namespace fmd {

[[nodiscard]] bool is_gzip(std::span<const std::uint8_t> bytes);

// The text in a gzip file (one member or several in a row). Throws Error(bad_csv) when it
// is damaged, cut off or longer than max_bytes; memory grows only with what is really
// there.
[[nodiscard]] std::string gunzip(std::span<const std::uint8_t> bytes,
                                 const std::string& source, Index max_bytes);

}  // namespace fmd
