#include "unlearn/delta.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/lapack.h"

namespace fmd::internal {
namespace {

struct SparseRow {
  const FeatureBlock* block;
  std::size_t at, end;

  SparseRow(const FeatureBlock& b, Index i)
      : block(&b),
        at(static_cast<std::size_t>(b.start[static_cast<std::size_t>(i)])),
        end(static_cast<std::size_t>(b.start[static_cast<std::size_t>(i) + 1])) {}
  [[nodiscard]] std::int32_t column() const {
    return at < end ? block->column[at] : std::numeric_limits<std::int32_t>::max();
  }
  [[nodiscard]] double value() const {
    return block->value.empty() ? 1.0 : static_cast<double>(block->value[at]);
  }
  void next() {
    if (++at < end && block->column[at] <= block->column[at - 1])
      throw Error(ErrorKind::bad_shape,
                  "pairs: a sparse row's columns are not in ascending order",
                  "sort each row of the sparse features by column");
  }
};

void subtract_sparse(const FeatureBlock& c, const FeatureBlock& cbar, Delta& out) {
  out.start.reserve(static_cast<std::size_t>(c.rows) + 1);
  out.start.push_back(0);
  for (Index i = 0; i < c.rows; ++i) {
    SparseRow left(c, i), right(cbar, i);
    while (left.at < left.end || right.at < right.end) {
      const std::int32_t column = std::min(left.column(), right.column());
      double difference = 0;
      if (left.column() == column) {
        difference = left.value();
        left.next();
      }
      if (right.column() == column) {
        difference -= right.value();
        right.next();
      }
      if (difference == 0) continue;
      out.column.push_back(column);
      out.value.push_back(difference);
    }
    out.start.push_back(static_cast<Index>(out.column.size()));
  }
}

void subtract_dense(const FeatureBlock& c, const FeatureBlock& cbar, Delta& out) {
  out.sparse = false;
  out.dense = Matrix::Zero(c.rows, c.cols);
  for (Index i = 0; i < c.rows; ++i) {
    double* row = out.dense.data() + i * c.cols;
    for_each_entry(c, i, [&](Index j, double value) { row[j] += value; });
    for_each_entry(cbar, i, [&](Index j, double value) { row[j] -= value; });
  }
}

void subtract_whole(const Delta& delta, const Matrix& h, Vector& into) {
  const Index stride = delta.cols + 1;
  if (!delta.sparse) {
    const int m = static_cast<int>(h.cols()), n = static_cast<int>(delta.rows);
    const int d = static_cast<int>(delta.cols), ld = static_cast<int>(stride);
    const double one = 1, minus = -1;
    if (m > 0 && n > 0 && d > 0)
      dgemm_("N", "T", &d, &m, &n, &minus, delta.dense.data(), &d, h.data(), &m, &one,
             into.data(), &ld);
    return;
  }
  for (Index i = 0; i < delta.rows; ++i)
    delta.for_each(i, [&](Index j, double value) {
      for (Index k = 0; k < h.cols(); ++k) into[k * stride + j] -= value * h(i, k);
    });
}

}  // namespace

Delta subtract(const FeatureBlock& c, const FeatureBlock& cbar) {
  require_size("pairs", "the cbar side of a block", cbar.rows, c.rows);
  require_size("pairs", "a row of cbar", cbar.cols, c.cols);
  Delta delta;
  delta.rows = c.rows;
  delta.cols = c.cols;
  if (c.sparse() && cbar.sparse()) {
    subtract_sparse(c, cbar, delta);
  } else {
    subtract_dense(c, cbar, delta);
  }
  if (c.offset == nullptr && cbar.offset == nullptr) return delta;
  delta.offset.setZero(c.rows, std::max(c.outputs, cbar.outputs));
  if (cbar.offset != nullptr) add_offset(cbar, delta.offset);
  delta.offset *= -1;
  if (c.offset != nullptr) add_offset(c, delta.offset);
  return delta;
}

Delta pair_delta(const PairSet& pairs, Index b) {
  Scratch c_scratch, cbar_scratch;
  return subtract(pairs.c.block(b, c_scratch), pairs.cbar.block(b, cbar_scratch));
}

void require_equal_offsets(const Delta& delta) {
  if (delta.offset.size() > 0 && !delta.offset.isZero(0))
    throw Error(ErrorKind::unsupported,
                "the path needs pairs whose sides have the same offset",
                "use --method solve with one lambda");
}

void delta_logits(const Delta& delta, const LinearHead& head, const Vector& theta,
                  Matrix& z) {
  delta_jvp(delta, head, theta, z);
  if (delta.offset.size() > 0) z += delta.offset;
}

void delta_jvp(const Delta& delta, const LinearHead& head, const Vector& v, Matrix& z) {
  Vector spare;
  const Vector& theta = head.expand(v, spare);
  const Index outputs = head.outputs(), stride = delta.cols + 1;
  z.setZero(delta.rows, outputs);
  if (!delta.sparse) {
    const int m = static_cast<int>(outputs), n = static_cast<int>(delta.rows);
    const int d = static_cast<int>(delta.cols), ld = static_cast<int>(stride);
    const double one = 1;
    if (m > 0 && n > 0 && d > 0)
      dgemm_("T", "N", &m, &n, &d, &one, theta.data(), &ld, delta.dense.data(), &d, &one,
             z.data(), &m);
    return;
  }
  for (Index i = 0; i < delta.rows; ++i)
    delta.for_each(i, [&](Index j, double value) {
      for (Index k = 0; k < outputs; ++k) z(i, k) += value * theta[k * stride + j];
    });
}

void subtract_delta_vjp(const Delta& delta, const LinearHead& head, const Matrix& h,
                        Vector& sum) {
  Vector own;
  if (!head.whole()) own.setZero(head.outputs() * (head.inputs() + 1));
  Vector& into = head.whole() ? sum : own;
  subtract_whole(delta, h, into);
  if (!head.whole()) sum += head.shrink(std::move(own));
}

}  // namespace fmd::internal
