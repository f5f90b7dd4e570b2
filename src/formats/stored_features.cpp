#include "formats/stored_features.h"

#include <algorithm>

#include "core/check.h"
#include "core/index.h"

namespace fmd::internal {
namespace {

// Reads `width` numbers for each of some rows, given by number, one after the other. Rows
// that follow each other are one read.
template <typename T>
void read_rows_of(const StoredRows& stored, Index offset, Index width,
                  std::span<const Index> rows, T* to) {
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
    if (rows[i] < 0 || rows[end - 1] >= stored.rows) {
      throw Error(ErrorKind::bad_shape,
                  fmt::format("features: rows {} to {} are asked for, there are {}",
                              rows[i], rows[end - 1], stored.rows));
    }
    const std::size_t count = (end - i) * at(width);
    stored.file->read(offset + rows[i] * width * Index{sizeof(T)},
                      {reinterpret_cast<std::uint8_t*>(to), count * sizeof(T)});
    to += count;
    i = end;
  }
}

template <typename T>
void read_block_of(const StoredRows& stored, Index offset, Index width, Index first,
                   Index rows, T* to) {
  stored.file->read(offset + first * width * Index{sizeof(T)},
                    {reinterpret_cast<std::uint8_t*>(to), at(rows * width) * sizeof(T)});
}

class StoredDense final : public Features {
 public:
  explicit StoredDense(StoredRows rows) : stored_(std::move(rows)) {}

  [[nodiscard]] Index rows() const override { return stored_.rows; }
  [[nodiscard]] Index cols() const override { return stored_.cols; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const override {
    const Index first = b * kBlockRows;
    const Index count = std::min(kBlockRows, stored_.rows - first);
    float* const to = room(count, scratch);
    read_block_of(stored_, stored_.x, stored_.cols, first, count, to);
    return dense_block(first, count, to);
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    const Index count = std::ssize(rows);
    float* const to = room(count, scratch);
    read_rows_of(stored_, stored_.x, stored_.cols, rows, to);
    return dense_block(0, count, to);
  }

 private:
  // One more than needed: the pointer of an empty block must not be null.
  float* room(Index count, Scratch& scratch) const {
    scratch.dense.resize(at(count * stored_.cols) + 1);
    return scratch.dense.data();
  }

  [[nodiscard]] FeatureBlock dense_block(Index first, Index count, const float* x) const {
    FeatureBlock block;
    block.first = first;
    block.rows = count;
    block.cols = stored_.cols;
    block.dense = x;
    return block;
  }

  StoredRows stored_;
};

class StoredSparse final : public Features {
 public:
  explicit StoredSparse(StoredRows rows) : stored_(std::move(rows)) {}

  [[nodiscard]] Index rows() const override { return stored_.rows; }
  [[nodiscard]] Index cols() const override { return stored_.cols; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const override {
    const Index first = b * kBlockRows;
    const Index count = std::min(kBlockRows, stored_.rows - first);
    make_room(count, scratch);
    read_block_of(stored_, stored_.column, stored_.places, first, count,
                  scratch.column.data());
    if (stored_.value >= 0)
      read_block_of(stored_, stored_.value, stored_.places, first, count,
                    scratch.value.data());
    return close_up(first, count, scratch, [&](Index i) { return first + i; });
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    make_room(std::ssize(rows), scratch);
    read_rows_of(stored_, stored_.column, stored_.places, rows, scratch.column.data());
    if (stored_.value >= 0)
      read_rows_of(stored_, stored_.value, stored_.places, rows, scratch.value.data());
    return close_up(0, std::ssize(rows), scratch, [&](Index i) { return rows[at(i)]; });
  }

 private:
  void make_room(Index count, Scratch& scratch) const {
    scratch.column.resize(at(count * stored_.places));
    scratch.value.resize(stored_.value >= 0 ? scratch.column.size() : 0);
  }

  // Takes the places without an entry out, in place.
  template <typename RowOf>
  [[nodiscard]] FeatureBlock close_up(Index first, Index count, Scratch& scratch,
                                      const RowOf& row_of) const {
    const bool ones = stored_.value < 0;
    std::int32_t* const columns = scratch.column.data();
    float* const values = scratch.value.data();
    scratch.start.resize(at(count) + 1);
    std::size_t used = 0;
    for (Index i = 0; i < count; ++i) {
      scratch.start[at(i)] = static_cast<Index>(used);
      const std::size_t from = at(i * stored_.places), to = from + at(stored_.places);
      std::int32_t last = -1;
      for (std::size_t e = from; e < to && columns[e] != -1; ++e) {
        const std::int32_t column = columns[e];
        if (column <= last || column >= stored_.cols) fail(row_of(i), column);
        last = column;
        columns[used] = column;
        if (!ones) values[used] = values[e];
        ++used;
      }
    }
    scratch.start[at(count)] = static_cast<Index>(used);
    FeatureBlock block;
    block.first = first;
    block.rows = count;
    block.cols = stored_.cols;
    block.start = scratch.start;
    block.column = std::span(scratch.column).first(used);
    if (!ones) block.value = std::span(scratch.value).first(used);
    return block;
  }

  [[noreturn]] void fail(Index row, std::int32_t column) const {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: row {} has a feature {}, they must ascend and be below {}",
                            stored_.file->name(), row, column, stored_.cols),
                "the file is damaged: make it again");
  }

  StoredRows stored_;
};

}  // namespace

std::unique_ptr<Features> make_stored_dense(StoredRows rows) {
  return std::make_unique<StoredDense>(std::move(rows));
}

std::unique_ptr<Features> make_stored_sparse(StoredRows rows) {
  return std::make_unique<StoredSparse>(std::move(rows));
}

}  // namespace fmd::internal
