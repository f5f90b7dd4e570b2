#pragma once

#include <string_view>
#include <vector>

#include "fmd/core/rng.h"

namespace fmd {

// Tables first .. first + tables - 1 of multinomial counts, one behind the other in
// `counts`, which are 0: table t is that of Rng(seed, purpose, t).multinomial(total,
// probability).
void draw_tables(Index total, const std::vector<double>& probability, std::uint64_t seed,
                 std::string_view purpose, Index first, Index tables, Index* counts);

}  // namespace fmd
