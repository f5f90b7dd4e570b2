#include <algorithm>

#include "core/check.h"
#include "core/index.h"
#include "fmd/model/features.h"

namespace fmd {
namespace {

void patch_dense(const FeatureBlock& block, const FeaturePatch& patch,
                 std::span<const std::int32_t> to, std::vector<float>& values) {
  for (Index i = 0; i < block.rows; ++i) {
    const float* row = block.dense + i * block.cols;
    const std::size_t first = values.size();
    values.insert(values.end(), row, row + block.cols);
    for (const auto& [from, last] : patch.columns)
      std::fill(values.begin() + static_cast<Index>(first) + from,
                values.begin() + static_cast<Index>(first) + last, 0.0F);
    for (const auto& [column, value] : patch.entries[at(to[at(i)])])
      values[first + at(column)] = value;
  }
}

// Both lists ascend: what stays of the row, and what is put in.
void patch_row(const FeatureBlock& block, Index i, const FeaturePatch& patch,
               std::span<const std::pair<std::int32_t, float>> put, CsrRows& rows) {
  const auto add = [&](std::int32_t column, float value) {
    rows.column.push_back(column);
    if (!block.value.empty()) rows.value.push_back(value);
  };
  auto range = patch.columns.begin();
  auto next = put.begin();
  for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
    const std::int32_t column = block.column[at(e)];
    while (range != patch.columns.end() && range->second <= column) ++range;
    if (range != patch.columns.end() && range->first <= column) continue;
    for (; next != put.end() && next->first < column; ++next)
      add(next->first, next->second);
    add(column, block.value.empty() ? 1.0F : block.value[at(e)]);
  }
  for (; next != put.end(); ++next) add(next->first, next->second);
  rows.start.push_back(static_cast<Index>(rows.column.size()));
}

}  // namespace

std::unique_ptr<Features> make_patched(const Features& base, std::span<const Index> rows,
                                       const FeaturePatch& patch,
                                       std::span<const std::int32_t> to) {
  require_size("flipped features", "to", static_cast<Index>(to.size()),
               static_cast<Index>(rows.size()));
  std::vector<float> dense;
  CsrRows sparse;
  sparse.cols = base.cols();
  Scratch scratch;
  bool is_dense = false;
  for (std::size_t first = 0; first < rows.size() || first == 0; first += at(kBlockRows)) {
    const std::size_t count = std::min(at(kBlockRows), rows.size() - first);
    const FeatureBlock block = base.gather(rows.subspan(first, count), scratch);
    is_dense = !block.sparse();
    if (is_dense) {
      patch_dense(block, patch, to.subspan(first, count), dense);
      continue;
    }
    for (Index i = 0; i < block.rows; ++i)
      patch_row(block, i, patch, patch.entries[at(to[first + at(i)])], sparse);
  }
  if (is_dense)
    return make_dense(std::move(dense), static_cast<Index>(rows.size()), base.cols());
  return make_sparse(std::move(sparse));
}

}  // namespace fmd
