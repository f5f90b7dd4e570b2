#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/internal.h"
#include "model/dense_rows.h"

namespace fmd::internal {

// The given rows as a dense matrix of doubles, for methods that work on small sets of rows.
[[nodiscard]] inline Matrix dense_matrix(const Features& X, std::span<const Index> rows) {
  Matrix out(std::ssize(rows), X.cols());
  Scratch scratch;
  std::vector<float> some;
  for (Index first = 0; first < out.rows(); first += kBlockRows) {
    const Index count = std::min(kBlockRows, out.rows() - first);
    expand(X,
           rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
           scratch, some);
    std::transform(some.begin(), some.end(), out.data() + first * X.cols(),
                   [](float x) { return static_cast<double>(x); });
  }
  return out;
}

}  // namespace fmd::internal
