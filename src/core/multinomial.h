#pragma once

#include <string_view>
#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Tables first .. first + tables - 1 of multinomial counts, one after the other in
// `counts`, where all numbers must be 0 before the call. Table t is the one that Rng(seed,
// purpose, t).multinomial(total, probability) draws.
void draw_tables(Index total, const std::vector<double>& probability, std::uint64_t seed,
                 std::string_view purpose, Index first, Index tables, Index* counts);

}  // namespace fmd::internal
