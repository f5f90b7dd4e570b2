#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/rows.h"

namespace fmd {

// Pairs: entry i of c against entry i of cbar, with the same label. The weights of the
// pairs of one source row and one attribute sum to 1 (times the attribute's share where
// several attributes are mixed).
struct PairSet {
  Rows c, cbar;
  std::vector<Index> unit;  // source row of each pair; pairs of a unit are adjacent
  std::vector<float> weight;
  std::vector<std::int32_t> from, to;  // attribute values (empty for given pairs)
  std::string attribute;

  [[nodiscard]] Index size() const { return static_cast<Index>(weight.size()); }
  [[nodiscard]] double total_weight() const;
};

}  // namespace fmd
