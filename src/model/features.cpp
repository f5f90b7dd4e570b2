#include "fmd/model/features.h"

#include <algorithm>
#include <limits>

#include "core/check.h"

namespace fmd {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

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
    block.dense = values_.data() + r.first * cols_;
    return block;
  }

  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    // One more than needed: the pointer of an empty block must not be null.
    scratch.dense.resize(rows.size() * at(cols_) + 1);
    float* to = scratch.dense.data();
    for (const Index row : rows) {
      require_row(row, rows_);
      to = std::copy_n(values_.data() + row * cols_, cols_, to);
    }
    FeatureBlock block;
    block.rows = static_cast<Index>(rows.size());
    block.cols = cols_;
    block.dense = scratch.dense.data();
    return block;
  }

 private:
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
    scratch.column.clear();
    scratch.value.clear();
    for (const Index row : rows) {
      require_row(row, this->rows());
      const Index from = csr_.start[at(row)], to = csr_.start[at(row) + 1];
      scratch.column.insert(scratch.column.end(), csr_.column.begin() + from,
                            csr_.column.begin() + to);
      if (!csr_.value.empty())
        scratch.value.insert(scratch.value.end(), csr_.value.begin() + from,
                             csr_.value.begin() + to);
      scratch.start.push_back(static_cast<Index>(scratch.column.size()));
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

}  // namespace

std::unique_ptr<Features> make_dense(std::vector<float> values, Index rows, Index cols) {
  require_size("features", "values", static_cast<Index>(values.size()), rows * cols);
  values.push_back(0);  // never empty: a null pointer would mean sparse
  return std::make_unique<DenseFeatures>(std::move(values), rows, cols);
}

std::unique_ptr<Features> make_sparse(CsrRows rows) {
  check_csr(rows);
  return std::make_unique<SparseFeatures>(std::move(rows));
}

}  // namespace fmd
