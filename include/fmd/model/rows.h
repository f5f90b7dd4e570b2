#pragma once

#include <span>

#include "fmd/core/types.h"
#include "fmd/model/features.h"

namespace fmd {

// A view of labelled rows: entry i is row subset[i] of X (or row i when subset is empty). y
// and weight have one entry for each row of X, not of the subset. An empty weight means 1;
// y = -1 is unknown.
struct Rows {
  const Features* X = nullptr;
  std::span<const std::int32_t> y;
  std::span<const float> weight;
  std::span<const Index> subset;

  [[nodiscard]] Index size() const;
  [[nodiscard]] Index row(Index entry) const {
    return subset.empty() ? entry : subset[static_cast<std::size_t>(entry)];
  }
  [[nodiscard]] std::int32_t label(Index entry) const {
    return y.empty() ? -1 : y[static_cast<std::size_t>(row(entry))];
  }
  [[nodiscard]] double weight_of(Index entry) const {
    return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(row(entry))];
  }
  // Features of entries [4096 b, 4096 (b + 1)).
  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const;
};

}  // namespace fmd
