#pragma once

#include <cstdint>
#include <string_view>

#include "core/internal.h"

namespace fmd::internal {

// CityHash64, version 1.0: later versions give other numbers. CatBoost knows a category by
// the low half of it.
[[nodiscard]] std::uint64_t city_hash(std::string_view text);

// The number that CatBoost files have for a category.
[[nodiscard]] inline std::int32_t category_hash(std::string_view text) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(city_hash(text)));
}

}  // namespace fmd::internal
