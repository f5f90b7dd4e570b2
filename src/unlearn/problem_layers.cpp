#include <cmath>

#include "core/sums.h"
#include "fmd/core/rng.h"
#include "model/layer_slopes.h"
#include "unlearn/problem.h"
#include "unlearn/slope.h"
#include "unlearn/spans.h"

namespace fmd {
namespace {

// What a dense layer multiplies: the block's rows, a 1 behind each.
Matrix with_ones(const FeatureBlock& block) {
  Matrix X = Matrix::Zero(block.rows, block.cols + 1);
  X.col(block.cols).setOnes();
  for (Index i = 0; i < block.rows; ++i)
    for_each_entry(block, i, [&](Index j, double x) { X(i, j) = x; });
  return X;
}

// root, whose root root^T is S in the mean over random signs.
void slope_root(const Vector& p, const Vector& sign, Eigen::Ref<Vector> root) {
  const Vector r = p.cwiseMax(0.0).cwiseSqrt().cwiseProduct(sign);
  if (p.size() == 1)
    root[0] = r[0] * std::sqrt(std::max(0.0, 1 - p[0]));
  else
    root = r - p * r.sum();
}

}  // namespace

// Slopes of the layers of one piece, times the root of what they weigh.
struct SolveProblem::LayerPiece {
  Matrix hold, hold_bar;  // of the loss, or the divergence, on c and on cbar
  Matrix pull, pull_bar;  // of p(c) - p(cbar)
};

SolveProblem::LayerPiece SolveProblem::layer_piece(const Point& point, std::size_t set,
                                                   Index piece, Index rows) const {
  const Index outputs = head_.outputs();
  LayerPiece made;
  for (Matrix* part : {&made.hold, &made.hold_bar, &made.pull, &made.pull_bar})
    part->resize(rows, outputs);
  Rng rng(set, "signs of the layers", static_cast<std::uint64_t>(piece));
  Vector sign(outputs), p(outputs), bar(outputs), root(outputs);
  for (Index i = 0; i < rows; ++i) {
    const Index entry = piece * piece_rows(head_) + i;
    for (Index k = 0; k < outputs; ++k) sign[k] = rng.below(2) == 0 ? -1 : 1;
    p = point.c[set].row(entry).transpose();
    bar = p - point.difference[set].row(entry).transpose();
    const PairScale scale = pair_scale(set, entry);
    const double anchor = options_.anchor * pair_weight(set, entry);
    slope_root(p, sign, root);
    made.hold.row(i) = std::sqrt(anchor + scale.fit) * root.transpose();
    slope_root(bar, sign, root);
    made.hold_bar.row(i) = std::sqrt(scale.fit) * root.transpose();
    const double pull = std::sqrt(2 * scale.pull);
    apply_slope(all_of(p), all_of(sign), all_of(root));
    made.pull.row(i) = pull * root.transpose();
    apply_slope(all_of(bar), all_of(sign), all_of(root));
    made.pull_bar.row(i) = pull * root.transpose();
  }
  return made;
}

void SolveProblem::add_layers(const Point& point, std::size_t set, Index piece,
                              const std::vector<LayerCurvature::Layer>& layers,
                              Vector& sums) const {
  const PairPiece pairs = pair_piece(set, piece);
  PairTape own;
  const PairTape& tape = tape_of(point, set, piece, pairs, own);
  LayerPiece h = layer_piece(point, set, piece, pairs.rows());
  Vector weight(pairs.rows());
  for (Index i = 0; i < pairs.rows(); ++i)
    weight[i] = std::sqrt(pair_weight(set, piece * piece_rows(head_) + i));
  const std::vector<Index> widths = head_.widths();
  const auto back = [&](const Tape& side, Matrix& slopes) {
    return layer_slopes(widths, point.theta, side, std::move(slopes));
  };
  const auto hold = back(tape.c, h.hold);
  std::vector<Matrix> pull, pull_bar, hold_bar;
  if (options_.fit > 0) hold_bar = back(tape.cbar, h.hold_bar);
  if (options_.lambda > 0) {
    pull = back(tape.c, h.pull);
    pull_bar = back(tape.cbar, h.pull_bar);
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerCurvature::Layer& layer = layers[l];
    const Matrix a =
        weight.asDiagonal() * (l == 0 ? with_ones(pairs.c()) : tape.c.value[l - 1]);
    layer.inputs.add(a, sums);
    layer.hold.add(hold[l], sums);
    if (options_.fit > 0) layer.hold.add(hold_bar[l], sums);
    if (options_.lambda == 0) continue;
    const Matrix bar =
        weight.asDiagonal() * (l == 0 ? with_ones(pairs.cbar()) : tape.cbar.value[l - 1]);
    layer.input_change.add(a - bar, sums);
    layer.slope.add((pull[l] + pull_bar[l]) / 2, sums);
    layer.slope_change.add(pull[l] - pull_bar[l], sums);
  }
}

LayerCurvature SolveProblem::layers(const Point& point) const {
  LayerCurvature total(head_.widths());
  for (std::size_t s = 0; s < pairs_.size(); ++s)
    total.sums += reduce<Sums>(
                      piece_count(head_, pairs_[s].size()),
                      [&] { return Sums{Vector::Zero(total.sums.size())}; },
                      [&](Sums& state, Index piece) {
                        add_layers(point, s, piece, total.layers, state.values);
                      },
                      exec_)
                      .values;
  return total;
}

}  // namespace fmd
