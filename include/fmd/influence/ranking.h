#pragma once

#include <span>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// The `count` entries that raise the gap most: change < 0, most negative first, equal ones
// by entry. Fewer entries where fewer changes are negative.
[[nodiscard]] std::vector<Index> most_harmful(std::span<const double> change, Index count);

// A cell label x group of the training rows.
struct InfluenceCell {
  std::int32_t label = -1, group = -1;
  Index rows = 0;
  double sum = 0;  // of the predicted changes

  // The predicted change when 100 average rows of the cell are left out.
  [[nodiscard]] double per_100() const {
    return rows > 0 ? 100 * sum / static_cast<double>(rows) : 0;
  }
};

// Every cell that has a row, lowest per_100 first. label and group are per entry. Entries
// whose label or group is -1 are left out.
[[nodiscard]] std::vector<InfluenceCell> influence_cells(
    std::span<const double> change, std::span<const std::int32_t> label,
    std::span<const std::int32_t> group);

}  // namespace fmd
