#include "fmd/model/rows.h"

#include <algorithm>

namespace fmd {

Index Rows::size() const {
  if (!subset.empty()) return static_cast<Index>(subset.size());
  return X == nullptr ? 0 : X->rows();
}

FeatureBlock Rows::block(Index b, Scratch& scratch) const {
  if (subset.empty()) return X->block(b, scratch);
  const Index first = b * kBlockRows;
  const Index count = std::min(kBlockRows, size() - first);
  FeatureBlock block = X->gather(
      subset.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
      scratch);
  block.first = first;
  return block;
}

}  // namespace fmd
