#pragma once

#include <span>

#include "data/row_source.h"

namespace fmd {

// Begins with the word that Parquet files begin with.
[[nodiscard]] bool is_parquet(std::span<const std::uint8_t> bytes);

}  // namespace fmd
