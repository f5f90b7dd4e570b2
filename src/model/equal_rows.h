#pragma once

#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/model/features.h"

namespace fmd::internal {

// Rows with the same features, to the bit, are of one kind.
struct EqualRows {
  std::vector<Index> first;  // the first row of each kind, in the list's order
  std::vector<std::vector<Index>> places;  // of each kind, in the list

  [[nodiscard]] Index kinds() const { return static_cast<Index>(first.size()); }
};

[[nodiscard]] EqualRows equal_rows(const Features& X, std::span<const Index> rows);

}  // namespace fmd::internal
