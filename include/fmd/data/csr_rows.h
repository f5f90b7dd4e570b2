#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Sparse rows. Row r has the entries start[r] .. start[r+1]-1. An empty `value` means that
// all are 1.
struct CsrRows {
  Index cols = 0;
  std::vector<Index> start = {0};
  std::vector<std::int32_t> column;
  std::vector<float> value;

  [[nodiscard]] Index rows() const { return static_cast<Index>(start.size()) - 1; }
};

// The features that a change of some cells replaces, and their new entries. With it,
// flipped rows are made from features alone, without the table that they came from.
struct FeaturePatch {
  std::vector<std::pair<Index, Index>> columns;  // [first, last) each, ascending
  std::vector<std::vector<std::pair<std::int32_t, float>>> entries;  // per value; ascending
};

}  // namespace fmd
