#pragma once

#include <utility>
#include <vector>

#include "fmd/model/tree_ensemble.h"

namespace fmd {

// An answer that must not fall (direction 1) or must not rise (-1) with a number.
struct MonotoneRule {
  std::int32_t input = 0;  // into TreeEnsemble::inputs
  int direction = 1;
};

// Pairs of leaves of one tree: two rows that differ in the rule's input alone can fall into
// the first one and into the second, with the smaller answer in the first. Every tree keeps
// the rule, and so does their sum, when no value of a first leaf is above that of its
// second. Splits on categories are taken to agree with each other, so there may be more
// pairs than needed. Rows where the input is missing are not compared. Throws
// Error(unsupported) where there are more pairs than memory should hold.
using LeafOrder = std::vector<std::pair<Index, Index>>;
[[nodiscard]] LeafOrder leaf_order(const TreeEnsemble& ensemble,
                                   const std::vector<MonotoneRule>& rules);

}  // namespace fmd
