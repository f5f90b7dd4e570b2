#pragma once

#include <cstddef>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// A row or feature number as the standard containers count: v[at(i)].
[[nodiscard]] constexpr std::size_t at(Index i) { return static_cast<std::size_t>(i); }

}  // namespace fmd::internal
