#pragma once

#include <algorithm>
#include <span>

#include "fmd/model/features.h"

namespace fmd {

// Rows as a dense matrix of doubles, for the few methods that look at small sets of them.
[[nodiscard]] inline Matrix dense_rows(const Features& X, std::span<const Index> rows) {
  Matrix out = Matrix::Zero(std::ssize(rows), X.cols());
  Scratch scratch;
  const Index n = std::ssize(rows);
  for (Index first = 0; first < n; first += kBlockRows) {
    const auto count = static_cast<std::size_t>(std::min(kBlockRows, n - first));
    const FeatureBlock block =
        X.gather(rows.subspan(static_cast<std::size_t>(first), count), scratch);
    for (Index i = 0; i < block.rows; ++i) {
      if (!block.sparse()) {
        for (Index j = 0; j < block.cols; ++j)
          out(first + i, j) = static_cast<double>(block.dense[i * block.cols + j]);
        continue;
      }
      const auto row = static_cast<std::size_t>(i);
      for (Index e = block.start[row]; e < block.start[row + 1]; ++e) {
        const auto at = static_cast<std::size_t>(e);
        out(first + i, block.column[at]) =
            block.value.empty() ? 1.0 : static_cast<double>(block.value[at]);
      }
    }
  }
  return out;
}

}  // namespace fmd
