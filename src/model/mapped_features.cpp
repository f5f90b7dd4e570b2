#include <algorithm>

#include "core/check.h"
#include "fmd/model/features.h"

namespace fmd {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

void require_row(Index row, Index rows) {
  if (row >= 0 && row < rows) return;
  throw Error(ErrorKind::bad_shape,
              fmt::format("features: row {} is asked for, there are {}", row, rows));
}

class DenseView final : public Features {
 public:
  DenseView(std::span<const float> values, Index rows, Index cols,
            std::shared_ptr<const void> keeper)
      : values_(values.empty() ? &kNothing : values.data()),
        rows_(rows),
        cols_(cols),
        keeper_(std::move(keeper)) {}

  [[nodiscard]] Index rows() const override { return rows_; }
  [[nodiscard]] Index cols() const override { return cols_; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch&) const override {
    FeatureBlock block;
    block.first = b * kBlockRows;
    block.rows = std::min(kBlockRows, rows_ - block.first);
    block.cols = cols_;
    block.dense = values_ + block.first * cols_;
    return block;
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    scratch.dense.resize(rows.size() * at(cols_) + 1);
    float* to = scratch.dense.data();
    for (const Index row : rows) {
      require_row(row, rows_);
      to = std::copy_n(values_ + row * cols_, cols_, to);
    }
    FeatureBlock block;
    block.rows = static_cast<Index>(rows.size());
    block.cols = cols_;
    block.dense = scratch.dense.data();
    return block;
  }

 private:
  static constexpr float kNothing = 0;  // a null pointer would mean sparse
  const float* values_;
  Index rows_, cols_;
  std::shared_ptr<const void> keeper_;
};

class PaddedView final : public Features {
 public:
  PaddedView(const PaddedRows& rows, std::string source, std::shared_ptr<const void> keeper)
      : padded_(rows), source_(std::move(source)), keeper_(std::move(keeper)) {}

  [[nodiscard]] Index rows() const override {
    return padded_.places == 0 ? 0
                               : static_cast<Index>(padded_.column.size()) / padded_.places;
  }
  [[nodiscard]] Index cols() const override { return padded_.cols; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const override {
    begin(scratch);
    const Index first = b * kBlockRows;
    const Index last = std::min(first + kBlockRows, rows());
    for (Index row = first; row < last; ++row) add(row, scratch);
    return end(first, scratch);
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    begin(scratch);
    for (const Index row : rows) {
      require_row(row, this->rows());
      add(row, scratch);
    }
    return end(0, scratch);
  }

 private:
  static void begin(Scratch& scratch) {
    scratch.start.assign(1, 0);
    scratch.column.clear();
    scratch.value.clear();
  }

  void add(Index row, Scratch& scratch) const {
    const auto columns =
        padded_.column.subspan(at(row * padded_.places), at(padded_.places));
    std::int32_t last = -1;
    for (std::size_t k = 0; k < columns.size() && columns[k] != -1; ++k) {
      if (columns[k] <= last || columns[k] >= padded_.cols) fail(row, columns[k]);
      last = columns[k];
      scratch.column.push_back(last);
      if (!padded_.value.empty())
        scratch.value.push_back(padded_.value[at(row * padded_.places) + k]);
    }
    scratch.start.push_back(static_cast<Index>(scratch.column.size()));
  }

  [[nodiscard]] FeatureBlock end(Index first, const Scratch& scratch) const {
    FeatureBlock block;
    block.first = first;
    block.rows = static_cast<Index>(scratch.start.size()) - 1;
    block.cols = padded_.cols;
    block.start = scratch.start;
    block.column = scratch.column;
    block.value = scratch.value;
    return block;
  }

  [[noreturn]] void fail(Index row, std::int32_t column) const {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: row {} has a feature {}, they must ascend and be below {}",
                            source_, row, column, padded_.cols),
                "the file is damaged: make it again");
  }

  PaddedRows padded_;
  std::string source_;
  std::shared_ptr<const void> keeper_;
};

}  // namespace

std::unique_ptr<Features> make_dense_view(std::span<const float> values, Index rows,
                                          Index cols, std::shared_ptr<const void> keeper) {
  require_size("features", "values", static_cast<Index>(values.size()), rows * cols);
  return std::make_unique<DenseView>(values, rows, cols, std::move(keeper));
}

std::unique_ptr<Features> make_padded_view(const PaddedRows& rows, std::string source,
                                           std::shared_ptr<const void> keeper) {
  if (!rows.value.empty())
    require_size("features", "value", static_cast<Index>(rows.value.size()),
                 static_cast<Index>(rows.column.size()));
  return std::make_unique<PaddedView>(rows, std::move(source), std::move(keeper));
}

}  // namespace fmd
