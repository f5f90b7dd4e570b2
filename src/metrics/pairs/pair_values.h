#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/metrics/counterfactual.h"

namespace fmd::internal {

// What one pair contributes. The gap is the size of change. change is NaN where the label
// is needed and is not known.
struct PairValue {
  double tv = 0, change = 0;
  bool flipped = false;
};

[[nodiscard]] PairValue pair_value(const PairScores& scores, Index pair);
[[nodiscard]] double pair_weight(const PairScores& scores, Index pair);

// First pair of each unit, and the number of pairs at the end.
[[nodiscard]] std::vector<Index> unit_starts(const PairScores& scores);

// Sizes agree, labels are classes, weights are positive. Throws Error (bad_shape,
// bad_option).
void require_pairs(const PairScores& scores);

}  // namespace fmd::internal
