#include "influence/sweep.h"

#include <algorithm>

#include "core/sums.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "model/block_loss.h"
#include "model/slice.h"

namespace fmd::internal {
namespace {

constexpr Index kTileRows = 256;  // rows whose features are read once for all products

bool counts(const Rows& rows, Index entry) {
  return rows.weight_of(entry) != 0 && rows.label(entry) >= 0;
}

// d(w L)/dz of the tile's rows from their logits, in place, and in `start` the same at
// theta = 0, where only the offset is left; 0 where a row does not count.
void loss_slopes(const Rows& train, const FeatureBlock& tile, Index first, Matrix& z,
                 Matrix& start) {
  const Index outputs = z.cols();
  Matrix p(z.rows(), classes_of(outputs));
  Matrix even = Matrix::Constant(p.rows(), p.cols(), 1 / static_cast<double>(p.cols()));
  block_probabilities(z, p);
  start.setZero(z.rows(), outputs);
  if (tile.offset != nullptr) {
    add_offset(tile, start);
    block_probabilities(start, even);
    start.setZero();
  }
  for (Index i = 0; i < z.rows(); ++i) {
    const Index entry = first + i;
    if (!counts(train, entry)) {
      z.row(i).setZero();
      continue;
    }
    const double w = train.weight_of(entry);
    const std::int32_t y = train.label(entry);
    if (outputs == 1) {
      z(i, 0) = w * (y == 1 ? -p(i, 0) : p(i, 1));
      start(i, 0) = w * (even(i, 1) - y);
      continue;
    }
    for (Index k = 0; k < outputs; ++k) z(i, k) = w * p(i, k);
    start.row(i) = w * even.row(i);
    z(i, y) -= w;
    start(i, y) -= w;
  }
}

// The pass of a linear head.
struct LinearSweep {
  const LinearHead& head;
  const Rows& train;
  const Vector& theta;
  const Matrix& v;
  LinearHead wide;   // theta and all directions side by side: logits and J v in one product
  LinearHead twice;  // both gradients side by side, in one product
  Vector stacked;

  LinearSweep(const LinearHead& h, const Rows& rows, const Vector& at,
              const Matrix& directions)
      : head(h),
        train(rows),
        theta(at),
        v(directions),
        wide(h.inputs(), h.outputs() * (1 + directions.cols())),
        twice(h.inputs(), 2 * h.outputs()),
        stacked(wide.parameters()) {
    const Index each = stacked.size() / (1 + v.cols());
    Vector spare;
    stacked.head(each) = head.expand(theta, spare);
    for (Index j = 0; j < v.cols(); ++j)
      stacked.segment((1 + j) * each, each) = head.expand(v.col(j), spare);
  }

  void block(Index b, Matrix& change, Vector& gradients) const {
    const Index outputs = head.outputs();
    Vector sums = Vector::Zero(twice.parameters());
    Scratch scratch;
    Matrix both, slope, slope_start, slopes;
    const FeatureBlock all = train.block(b, scratch);
    for (Index i = 0; i < all.rows; i += kTileRows) {
      const Index rows = std::min(kTileRows, all.rows - i), first = b * kBlockRows + i;
      const FeatureBlock tile = slice(all, i, rows);
      wide.jvp(tile, stacked, {}, stacked, both);
      slope = both.leftCols(outputs);
      if (tile.offset != nullptr) add_offset(tile, slope);
      loss_slopes(train, tile, first, slope, slope_start);
      for (Index r = 0; r < rows; ++r)
        for (Index j = 0; j < v.cols(); ++j)
          change(first + r, j) =
              slope.row(r).dot(both.row(r).segment((1 + j) * outputs, outputs));
      slopes.resize(rows, 2 * outputs);
      slopes << slope, slope_start;
      twice.vjp(tile, sums, {}, slopes, sums);
    }
    const Index each = sums.size() / 2;
    gradients.head(theta.size()) += head.shrink(sums.head(each));
    gradients.tail(theta.size()) += head.shrink(sums.tail(each));
  }
};

// A network: one forward pass, a sweep for each direction and one back for each gradient.
struct NetworkSweep {
  const Head& head;
  const Rows& train;
  const Vector& theta;
  const Matrix& v;
  Vector start;  // theta with the last layer 0

  NetworkSweep(const Head& h, const Rows& rows, const Vector& at, const Matrix& directions)
      : head(h), train(rows), theta(at), v(directions), start(at) {
    start.tail(start.size() - layers_of(h).back().start).setZero();
  }

  void block(Index b, Matrix& change, Vector& gradients) const {
    const Index p = theta.size();
    Vector here = Vector::Zero(p), at_start = Vector::Zero(p);
    Scratch scratch;
    Matrix slope, slope_start, u;
    Tape tape;
    const FeatureBlock all = train.block(b, scratch);
    for (Index i = 0; i < all.rows; i += kTileRows) {
      const Index rows = std::min(kTileRows, all.rows - i), first = b * kBlockRows + i;
      const FeatureBlock tile = slice(all, i, rows);
      head.logits(tile, theta, slope, &tape);
      loss_slopes(train, tile, first, slope, slope_start);
      for (Index j = 0; j < v.cols(); ++j) {
        head.jvp(tile, theta, tape, v.col(j), u);
        for (Index r = 0; r < rows; ++r) change(first + r, j) = slope.row(r).dot(u.row(r));
      }
      head.vjp(tile, theta, tape, slope, here);
      head.vjp(tile, start, tape, slope_start, at_start);
    }
    gradients.head(p) += here;
    gradients.tail(p) += at_start;
  }
};

template <typename Sweep>
Vector gradients_of(const Sweep& sweep, const Rows& train, Index parameters, Matrix& change,
                    const Exec& exec) {
  return reduce<Sums>(
             block_count(train.size()), [&] { return Sums{Vector::Zero(2 * parameters)}; },
             [&](Sums& sums, Index b) { sweep.block(b, change, sums.values); }, exec)
      .values;
}

}  // namespace

LossGradients sweep_rows(const Head& head, const Rows& train, const Vector& theta,
                         const Matrix& v, Matrix& change, const Exec& exec) {
  const Index p = theta.size();
  require_loss(head, "influence");
  const LinearHead* linear = head.as_linear();
  const Vector both =
      linear != nullptr
          ? gradients_of(LinearSweep(*linear, train, theta, v), train, p, change, exec)
          : gradients_of(NetworkSweep(head, train, theta, v), train, p, change, exec);
  return {both.head(p), both.tail(p)};
}

}  // namespace fmd::internal
