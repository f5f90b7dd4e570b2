#pragma once

#include "core/internal.h"
#include "fmd/model/features.h"

namespace fmd::internal {

// `count` rows of a block from row `first` on, in place.
[[nodiscard]] inline FeatureBlock slice(const FeatureBlock& block, Index first,
                                        Index count) {
  FeatureBlock part = block;
  part.first = block.first + first;
  part.rows = count;
  if (block.offset != nullptr) part.offset = block.offset + first * block.outputs;
  if (block.sparse())
    part.start = block.start.subspan(static_cast<std::size_t>(first),
                                     static_cast<std::size_t>(count) + 1);
  else
    part.dense = block.dense + first * block.cols;
  return part;
}

}  // namespace fmd::internal
