#pragma once

#include <map>
#include <vector>

#include "core/check.h"
#include "core/internal.h"
#include "fmd/core/types.h"

// Tables of counts whose cells belong to strata. Without strata all cells are one stratum.
namespace fmd::internal {

// A stratum for each cell, and no negative counts. Throws Error (bad_shape, bad_option).
inline void require_strata(const std::vector<Index>& counts,
                           const std::vector<int>& stratum) {
  if (!stratum.empty())
    require_size("bootstrap", "stratum", static_cast<Index>(stratum.size()),
                 static_cast<Index>(counts.size()));
  for (const Index count : counts)
    require_option(count >= 0, "bootstrap", "counts", count, ">= 0");
}

// Cells of each stratum.
inline std::map<int, std::vector<std::size_t>> cells_by_stratum(
    const std::vector<Index>& counts, const std::vector<int>& stratum) {
  std::map<int, std::vector<std::size_t>> cells;
  for (std::size_t c = 0; c < counts.size(); ++c)
    cells[stratum.empty() ? 0 : stratum[c]].push_back(c);
  return cells;
}

}  // namespace fmd::internal
