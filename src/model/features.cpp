#include "fmd/model/features.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/index.h"
#include "model/patched.h"

namespace fmd {
namespace {

struct Range {
  Index first, rows;
};

Range range_of(Index b, Index rows) {
  const Index first = b * kBlockRows;
  return {first, std::min(kBlockRows, rows - first)};
}

void require_row(Index row, Index rows) {
  if (row >= 0 && row < rows) return;
  throw Error(ErrorKind::bad_shape,
              fmt::format("features: row {} is asked for, there are {}", row, rows));
}

class DenseFeatures final : public Features {
 public:
  DenseFeatures(std::vector<float> values, Index rows, Index cols)
      : values_(std::move(values)), rows_(rows), cols_(cols) {}

  [[nodiscard]] Index rows() const override { return rows_; }
  [[nodiscard]] Index cols() const override { return cols_; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch&) const override {
    const Range r = range_of(b, rows_);
    FeatureBlock block;
    block.first = r.first;
    block.rows = r.rows;
    block.cols = cols_;
    block.dense = values_.empty() ? &kNothing : values_.data() + r.first * cols_;
    return block;
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    // One more than needed: the pointer of an empty block must not be null.
    scratch.dense.resize(rows.size() * at(cols_) + 1);
    float* to = scratch.dense.data();
    for (const Index row : rows) {
      require_row(row, rows_);
      to = std::copy_n(values_.begin() + row * cols_, cols_, to);
    }
    FeatureBlock block;
    block.rows = static_cast<Index>(rows.size());
    block.cols = cols_;
    block.dense = scratch.dense.data();
    return block;
  }

 private:
  static constexpr float kNothing = 0;  // a null pointer would mean sparse
  std::vector<float> values_;
  Index rows_, cols_;
};

class SparseFeatures final : public Features {
 public:
  explicit SparseFeatures(CsrRows rows) : csr_(std::move(rows)) {}

  [[nodiscard]] Index rows() const override { return csr_.rows(); }
  [[nodiscard]] Index cols() const override { return csr_.cols; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch&) const override {
    const Range r = range_of(b, rows());
    FeatureBlock block;
    block.first = r.first;
    block.rows = r.rows;
    block.cols = csr_.cols;
    block.start = std::span(csr_.start).subspan(at(r.first), at(r.rows) + 1);
    block.column = csr_.column;
    block.value = csr_.value;
    return block;
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    scratch.start.assign(1, 0);
    for (const Index row : rows) {
      require_row(row, this->rows());
      scratch.start.push_back(scratch.start.back() + csr_.start[at(row) + 1] -
                              csr_.start[at(row)]);
    }
    const auto entries = at(scratch.start.back());
    scratch.column.resize(entries);
    scratch.value.resize(csr_.value.empty() ? 0 : entries);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Index from = csr_.start[at(rows[i])], to = scratch.start[i];
      const Index count = scratch.start[i + 1] - to;
      std::copy_n(csr_.column.begin() + from, count, scratch.column.begin() + to);
      if (!csr_.value.empty())
        std::copy_n(csr_.value.begin() + from, count, scratch.value.begin() + to);
    }
    FeatureBlock block;
    block.rows = static_cast<Index>(rows.size());
    block.cols = csr_.cols;
    block.start = scratch.start;
    block.column = scratch.column;
    block.value = scratch.value;
    return block;
  }

 private:
  CsrRows csr_;
};

// Another matrix of features, with an offset for the logits.
class OffsetFeatures final : public Features {
 public:
  OffsetFeatures(std::unique_ptr<Features> X, std::vector<double> offset, Index outputs)
      : X_(std::move(X)), offset_(std::move(offset)), outputs_(outputs) {}

  [[nodiscard]] Index rows() const override { return X_->rows(); }
  [[nodiscard]] Index cols() const override { return X_->cols(); }

  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const override {
    FeatureBlock block = X_->block(b, scratch);
    block.offset = offset_.data() + b * kBlockRows * outputs_;
    block.outputs = outputs_;
    return block;
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    FeatureBlock block = X_->gather(rows, scratch);
    scratch.offset.clear();
    for (const Index row : rows) {
      const auto from = offset_.begin() + row * outputs_;
      scratch.offset.insert(scratch.offset.end(), from, from + outputs_);
    }
    block.offset = scratch.offset.data();
    block.outputs = outputs_;
    return block;
  }

 private:
  std::unique_ptr<Features> X_;
  std::vector<double> offset_;
  Index outputs_;
};

// Kernels index by column without looking and rely on ascending order.
void check_row(const CsrRows& csr, Index row) {
  const Index from = csr.start[at(row)], to = csr.start[at(row) + 1];
  std::int32_t last = -1;
  for (Index e = from; e < to; ++e) {
    const std::int32_t column = csr.column[at(e)];
    if (column <= last || column >= csr.cols) {
      throw Error(
          ErrorKind::bad_shape,
          fmt::format("features: row {} has column {} after {}, columns must ascend "
                      "and be below {}",
                      row, column, last, csr.cols));
    }
    last = column;
  }
}

void check_csr(const CsrRows& csr) {
  if (csr.cols < 0 || csr.cols > std::numeric_limits<std::int32_t>::max() ||
      csr.start.empty() || csr.start.front() != 0 ||
      csr.start.back() != static_cast<Index>(csr.column.size()) ||
      !std::is_sorted(csr.start.begin(), csr.start.end())) {
    throw Error(ErrorKind::bad_shape,
                "features: row starts must ascend from 0 to the number of entries");
  }
  if (!csr.value.empty())
    require_size("features", "value", static_cast<Index>(csr.value.size()),
                 static_cast<Index>(csr.column.size()));
  for (Index row = 0; row < csr.rows(); ++row) check_row(csr, row);
}

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

std::unique_ptr<Features> make_dense(std::vector<float> values, Index rows, Index cols) {
  require_size("features", "values", static_cast<Index>(values.size()), rows * cols);
  return std::make_unique<DenseFeatures>(std::move(values), rows, cols);
}

std::unique_ptr<Features> make_sparse(CsrRows rows) {
  check_csr(rows);
  return std::make_unique<SparseFeatures>(std::move(rows));
}

std::unique_ptr<Features> make_offset(std::unique_ptr<Features> X,
                                      std::vector<double> offset, Index outputs) {
  require_size("features", "offset", std::ssize(offset), X->rows() * outputs);
  return std::make_unique<OffsetFeatures>(std::move(X), std::move(offset), outputs);
}

std::unique_ptr<Features> keep_offset(std::unique_ptr<Features> X, const Features& from,
                                      std::span<const Index> rows) {
  Scratch scratch;
  if (from.rows() == 0) return X;
  const Index outputs = from.block(0, scratch).outputs;
  if (outputs == 0) return X;
  const Index count = rows.empty() ? from.rows() : std::ssize(rows);
  std::vector<double> offset;
  for (Index first = 0; first < count; first += kBlockRows) {
    const FeatureBlock block =
        rows.empty()
            ? from.block(first / kBlockRows, scratch)
            : from.gather(rows.subspan(at(first), at(std::min(kBlockRows, count - first))),
                          scratch);
    offset.insert(offset.end(), block.offset, block.offset + block.rows * outputs);
  }
  return make_offset(std::move(X), std::move(offset), outputs);
}

std::unique_ptr<Features> make_patched(const Features& base, std::span<const Index> rows,
                                       const FeaturePatch& patch,
                                       std::span<const std::int32_t> to) {
  return internal::make_patched(base, rows, patch, to, {});
}

namespace {

// Some of the rows, dense or sparse. Its memory serves piece after piece: new pages are
// what making rows costs most.
struct Piece {
  bool is_dense = false;
  std::vector<float> dense;
  CsrRows sparse;
  Scratch scratch;
};

void make_piece(const Features& base, std::span<const Index> rows,
                const FeaturePatch& patch, std::span<const std::int32_t> to, Piece& piece) {
  const FeatureBlock block = base.gather(rows, piece.scratch);
  piece.dense.clear();
  piece.sparse.start.resize(1);
  piece.sparse.column.clear();
  piece.sparse.value.clear();
  piece.is_dense = !block.sparse();
  if (piece.is_dense) return patch_dense(block, patch, to, piece.dense);
  for (Index i = 0; i < block.rows; ++i)
    patch_row(block, i, patch, patch.entries[at(to[at(i)])], piece.sparse);
}

void append_rows(const CsrRows& from, CsrRows& rows) {
  const auto before = static_cast<Index>(rows.column.size());
  for (std::size_t r = 1; r < from.start.size(); ++r)
    rows.start.push_back(before + from.start[r]);
  rows.column.insert(rows.column.end(), from.column.begin(), from.column.end());
  rows.value.insert(rows.value.end(), from.value.begin(), from.value.end());
}

}  // namespace

std::unique_ptr<Features> internal::make_patched(const Features& base,
                                                 std::span<const Index> rows,
                                                 const FeaturePatch& patch,
                                                 std::span<const std::int32_t> to,
                                                 const Exec& exec) {
  require_size("flipped features", "to", std::ssize(to), std::ssize(rows));
  constexpr Index kTogether = 16;  // pieces that wait in memory
  const Index blocks = std::max<Index>(1, block_count(std::ssize(rows)));
  std::vector<float> dense;
  CsrRows sparse;
  sparse.cols = base.cols();
  bool is_dense = false;
  std::vector<Piece> pieces(at(std::min(kTogether, blocks)));
  for (Index first = 0; first < blocks; first += kTogether) {
    pieces.resize(at(std::min(kTogether, blocks - first)));
    exec.for_each(std::ssize(pieces), [&](Index i) {
      const std::size_t from = at((first + i) * kBlockRows),
                        count = std::min(at(kBlockRows), rows.size() - from);
      make_piece(base, rows.subspan(from, count), patch, to.subspan(from, count),
                 pieces[at(i)]);
    });
    if (first == 0 && blocks > 1) {  // about as much for each
      const auto all = static_cast<std::size_t>(blocks + blocks / 16);
      dense.reserve(pieces[0].dense.size() * all);
      sparse.column.reserve(pieces[0].sparse.column.size() * all);
      sparse.value.reserve(pieces[0].sparse.value.size() * all);
      sparse.start.reserve(rows.size() + 1);
    }
    for (const Piece& piece : pieces) {
      is_dense = piece.is_dense;
      if (is_dense) {
        dense.insert(dense.end(), piece.dense.begin(), piece.dense.end());
      } else {
        append_rows(piece.sparse, sparse);
      }
    }
  }
  auto made = is_dense ? make_dense(std::move(dense), std::ssize(rows), base.cols())
                       : make_sparse(std::move(sparse));
  return rows.empty() ? std::move(made) : keep_offset(std::move(made), base, rows);
}

}  // namespace fmd
