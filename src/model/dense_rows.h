#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/model/features.h"

namespace fmd::internal {

// The given rows as dense floats, row after row.
inline void expand(const Features& X, std::span<const Index> rows, Scratch& scratch,
                   std::vector<float>& to) {
  const FeatureBlock block = X.gather(rows, scratch);
  const Index d = block.cols;
  to.resize(static_cast<std::size_t>(block.rows * d));
  if (!block.sparse()) {
    std::copy_n(block.dense, block.rows * d, to.begin());
    return;
  }
  std::fill(to.begin(), to.end(), 0.0F);
  for (Index i = 0; i < block.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (Index e = block.start[row]; e < block.start[row + 1]; ++e) {
      const auto entry = static_cast<std::size_t>(e);
      to[static_cast<std::size_t>(i * d + block.column[entry])] =
          block.value.empty() ? 1.0F : block.value[entry];
    }
  }
}

}  // namespace fmd::internal
