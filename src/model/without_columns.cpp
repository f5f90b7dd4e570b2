#include "fmd/model/without_columns.h"

#include <vector>

#include "core/index.h"

namespace fmd {
namespace {

// New number of each column; -1: left out.
struct Columns {
  std::vector<Index> to;
  Index count = 0;

  Columns(Index cols, std::span<const Index> drop) : to(at(cols), 0) {
    for (const Index column : drop) to[at(column)] = -1;
    for (Index& column : to)
      if (column >= 0) column = count++;
  }
};

void take_dense(const FeatureBlock& block, const Columns& columns, float* into) {
  for (Index i = 0; i < block.rows; ++i)
    for (Index j = 0; j < block.cols; ++j)
      if (const Index to = columns.to[at(j)]; to >= 0)
        into[i * columns.count + to] = block.dense[i * block.cols + j];
}

CsrRows take_sparse(const FeatureBlock& block, const Columns& columns) {
  CsrRows part;
  for (Index i = 0; i < block.rows; ++i) {
    for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
      const Index to = columns.to[at(block.column[at(e)])];
      if (to < 0) continue;
      part.column.push_back(static_cast<std::int32_t>(to));
      part.value.push_back(block.value.empty() ? 1.0F : block.value[at(e)]);
    }
    part.start.push_back(std::ssize(part.column));
  }
  return part;
}

CsrRows joined(const std::vector<CsrRows>& parts, Index cols) {
  CsrRows all;
  all.cols = cols;
  for (const CsrRows& part : parts) {
    const Index before = std::ssize(all.column);
    all.column.insert(all.column.end(), part.column.begin(), part.column.end());
    all.value.insert(all.value.end(), part.value.begin(), part.value.end());
    for (std::size_t i = 1; i < part.start.size(); ++i)
      all.start.push_back(before + part.start[i]);
  }
  return all;
}

}  // namespace

std::unique_ptr<Features> without_columns(const Features& X, std::span<const Index> drop,
                                          const Exec& exec) {
  const Columns columns(X.cols(), drop);
  const Index blocks = block_count(X.rows());
  Scratch probe;
  if (blocks == 0 || X.block(0, probe).sparse()) {
    std::vector<CsrRows> parts(at(blocks));
    exec.for_each(blocks, [&](Index b) {
      Scratch scratch;
      parts[at(b)] = take_sparse(X.block(b, scratch), columns);
    });
    return make_sparse(joined(parts, columns.count));
  }
  std::vector<float> dense(at(X.rows() * columns.count));
  exec.for_each(blocks, [&](Index b) {
    Scratch scratch;
    take_dense(X.block(b, scratch), columns, dense.data() + b * kBlockRows * columns.count);
  });
  return make_dense(std::move(dense), X.rows(), columns.count);
}

}  // namespace fmd
