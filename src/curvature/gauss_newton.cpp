#include "fmd/curvature/gauss_newton.h"

#include <algorithm>

#include "core/check.h"
#include "core/sums.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "model/block_loss.h"
#include "model/slice.h"

namespace fmd {
namespace {

constexpr Index kPassRows = 512;  // a layer's numbers stay in the second-level cache
constexpr Index kMostKeptNumbers = Index{1} << 25;  // numbers; 256 MB

// u becomes w S u.
void apply_slope(const double* p, Index outputs, double weight, double* u) {
  if (outputs == 1) {
    u[0] *= weight * p[0] * p[1];
    return;
  }
  double mean = 0;
  for (Index k = 0; k < outputs; ++k) mean += p[k] * u[k];
  for (Index k = 0; k < outputs; ++k) u[k] = weight * p[k] * (u[k] - mean);
}

Index numbers_in_row(const Head& head) {
  Index count = classes_of(head.outputs());
  const std::vector<Index> widths = head.widths();
  for (std::size_t l = 1; l + 1 < widths.size(); ++l) count += 2 * widths[l] + 1;
  return count;
}

}  // namespace

GaussNewton::GaussNewton(const Head& head, const Rows& rows, const Vector& theta,
                         const GaussNewtonTerms& terms, const Exec& exec)
    : head_(head), rows_(rows), theta_(theta), terms_(terms), exec_(exec) {
  require_size("curvature", "theta", theta.size(), head.parameters());
  require_loss(head, "curvature");
  require_option(terms.n >= 0, "curvature", "n", terms.n, ">= 0");
  require_option(terms.l2 >= 0, "curvature", "l2", terms.l2, ">= 0");
  if (rows.X == nullptr || rows.size() == 0)
    throw Error(ErrorKind::bad_data, "curvature: there are no rows",
                "give at least one row");
  require_size("curvature", "a row of features", rows.X->cols(), head.inputs());
  if (terms_.n == 0) terms_.n = static_cast<double>(rows.size());
  if (rows.size() > kMostKeptNumbers / numbers_in_row(head)) return;
  auto kept = std::make_shared<std::vector<Tiles>>(
      static_cast<std::size_t>(block_count(rows.size())));
  exec.for_each(block_count(rows.size()), [&](Index b) {
    Scratch scratch;
    (*kept)[static_cast<std::size_t>(b)] = tiles_of(rows_.block(b, scratch));
  });
  kept_ = std::move(kept);
}

GaussNewton::Tiles GaussNewton::tiles_of(const FeatureBlock& block) const {
  Tiles tiles;
  Matrix z;
  for (Index i = 0; i < block.rows; i += kPassRows) {
    Tile& tile = tiles.emplace_back();
    const FeatureBlock part = slice(block, i, std::min(kPassRows, block.rows - i));
    head_.logits(part, theta_, z, &tile.tape);
    tile.p.resize(z.rows(), classes_of(z.cols()));
    block_probabilities(z, tile.p);
  }
  return tiles;
}

void GaussNewton::add_block(Index b, const Vector& v, Vector& into) const {
  Scratch scratch;
  const FeatureBlock block = rows_.block(b, scratch);
  const Tiles made = kept_ ? Tiles() : tiles_of(block);
  const Tiles& tiles = kept_ ? (*kept_)[static_cast<std::size_t>(b)] : made;
  const Index outputs = head_.outputs();
  Matrix u;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const Tile& tile = tiles[t];
    const Index first = static_cast<Index>(t) * kPassRows;
    const FeatureBlock part = slice(block, first, tile.p.rows());
    head_.jvp(part, theta_, tile.tape, v, u);
    for (Index i = 0; i < u.rows(); ++i)
      apply_slope(tile.p.row(i).data(), outputs,
                  rows_.weight_of(b * kBlockRows + first + i), u.row(i).data());
    head_.vjp(part, theta_, tile.tape, u, into);
    if (!terms_.exact) continue;
    head_.logits(part, theta_, u);
    (void)block_loss_gradient(rows_, b * kBlockRows + first, u);
    head_.second(part, theta_, v, u, into);
  }
}

Vector GaussNewton::apply(const Vector& v) const {
  require_size("curvature", "a direction", v.size(), dim());
  const Vector sum =
      reduce<Sums>(
          block_count(rows_.size()), [&] { return Sums{Vector::Zero(dim())}; },
          [&](Sums& sums, Index b) { add_block(b, v, sums.values); }, exec_)
          .values;
  return sum / terms_.n + ridge_gradient(head_, v, terms_.l2) + terms_.damping * v;
}

Matrix GaussNewton::matrix() const {
  Matrix all(dim(), dim());
  Vector unit = Vector::Zero(dim());
  for (Index j = 0; j < dim(); ++j) {
    unit[j] = 1;
    all.row(j) = apply(unit).transpose();
    unit[j] = 0;
  }
  return (all + all.transpose()) / 2;
}

}  // namespace fmd
