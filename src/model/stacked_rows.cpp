#include "model/stacked_rows.h"

#include <algorithm>

#include "fmd/data/csr_rows.h"

namespace fmd::internal {
namespace {

float stored_value(const FeatureBlock& block, std::size_t entry) {
  return block.value.empty() ? 1.0F : block.value[entry];
}

template <typename Add>
void for_each_block(std::span<const Rows> lists, const Add& add) {
  Scratch scratch;
  for (const Rows& rows : lists)
    for (Index b = 0; b < block_count(rows.size()); ++b) add(rows.block(b, scratch));
}

void append_dense(const FeatureBlock& block, std::vector<float>& to) {
  const std::size_t first = to.size(), d = static_cast<std::size_t>(block.cols);
  to.resize(first + static_cast<std::size_t>(block.rows) * d);
  if (!block.sparse()) {
    std::copy_n(block.dense, block.rows * block.cols, to.data() + first);
    return;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i)
    for (auto e = static_cast<std::size_t>(block.start[i]);
         e < static_cast<std::size_t>(block.start[i + 1]); ++e)
      to[first + i * d + static_cast<std::size_t>(block.column[e])] =
          stored_value(block, e);
}

// ones: no list has other values.
void append_sparse(const FeatureBlock& block, bool ones, CsrRows& to) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
    for (auto e = static_cast<std::size_t>(block.start[i]);
         e < static_cast<std::size_t>(block.start[i + 1]); ++e) {
      to.column.push_back(block.column[e]);
      if (!ones) to.value.push_back(stored_value(block, e));
    }
    to.start.push_back(static_cast<Index>(to.column.size()));
  }
}

std::unique_ptr<Features> with_offsets(std::unique_ptr<Features> X,
                                       std::span<const Rows> lists, Index outputs) {
  if (outputs == 0) return X;
  std::vector<double> all;
  for_each_block(lists, [&](const FeatureBlock& block) {
    const auto size = static_cast<std::size_t>(block.rows * outputs);
    if (block.offset == nullptr)
      all.resize(all.size() + size, 0.0);
    else
      all.insert(all.end(), block.offset, block.offset + size);
  });
  return make_offset(std::move(X), std::move(all), outputs);
}

}  // namespace

std::unique_ptr<Features> stack_rows(std::span<const Rows> lists, bool dense) {
  bool sparse = !dense, ones = true;
  Index rows = 0, outputs = 0;  // outputs: of the offset
  for (const Rows& list : lists) rows += list.size();
  for_each_block(lists, [&](const FeatureBlock& block) {
    sparse = sparse && block.sparse();
    ones = ones && block.value.empty();
    if (block.offset != nullptr) outputs = block.outputs;
  });
  if (!sparse) {
    std::vector<float> values;
    for_each_block(lists, [&](const FeatureBlock& block) { append_dense(block, values); });
    return with_offsets(make_dense(std::move(values), rows, lists[0].X->cols()), lists,
                        outputs);
  }
  CsrRows csr;
  csr.cols = lists[0].X->cols();
  for_each_block(lists,
                 [&](const FeatureBlock& block) { append_sparse(block, ones, csr); });
  return with_offsets(make_sparse(std::move(csr)), lists, outputs);
}

}  // namespace fmd::internal
