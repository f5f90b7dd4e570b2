#pragma once

#include <vector>

#include "fmd/core/rng.h"
#include "fmd/model/rows.h"

namespace fmd {

// Rows of X, one out of each stretch of equal length, at a random place: spread like a
// grid, blind to periods in the order of rows. Always the same ones for the same sizes.
[[nodiscard]] inline std::vector<Index> sample_rows(const Rows& rows, Index count) {
  Rng rng(1, "sample of rows");
  std::vector<Index> sample;
  const Index size = rows.size();
  for (Index i = 0; i < count; ++i) {
    const Index first = i * size / count, last = (i + 1) * size / count;
    sample.push_back(rows.row(first + rng.below(last - first)));
  }
  return sample;
}

}  // namespace fmd
