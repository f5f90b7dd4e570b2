#include "unlearn/layer_inverse.h"

#include <cmath>

#include "core/gemm.h"

namespace fmd::internal {
namespace {

constexpr double kFloor = 1e-7;  // of the mean diagonal, for directions that no pair shows

double mean_diagonal(const Matrix& m) {
  return m.cols() == 1 ? m.mean() : m.diagonal().mean();
}

void add_diagonal(Matrix& m, double value) {
  if (m.cols() == 1)
    m.array() += value;
  else
    m.diagonal().array() += value;
}

}  // namespace

void Gram::add(const Matrix& X, Vector& sums) const {
  if (full())
    gemm(As::transposed, As::is, size, size, X.rows(), {X.data(), size}, {X.data(), size},
         1, {sums.data() + start, size});
  else
    sums.segment(start, size) += X.colwise().squaredNorm().transpose();
}

LayerCurvature::LayerCurvature(const std::vector<Index>& widths, Index most_full) {
  Index next = 0, parameters = 0;
  const auto place = [&](Index size) {
    const Gram gram{next, size, most_full};
    next += gram.numbers();
    return gram;
  };
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const Index inputs = widths[l] + 1, outputs = widths[l + 1];
    layers.push_back({.start = parameters,
                      .inputs = place(inputs),
                      .input_change = place(inputs),
                      .hold = place(outputs),
                      .slope = place(outputs),
                      .slope_change = place(outputs)});
    parameters += inputs * outputs;
  }
  sums = Vector::Zero(next);
}

LayerInverse::LayerInverse(const LayerCurvature& curvature, double hold_scale,
                           double ridge) {
  const Vector& sums = curvature.sums;
  for (const LayerCurvature::Layer& layer : curvature.layers) {
    Matrix inputs = layer.inputs.of(sums);
    Matrix outputs = hold_scale * layer.hold.of(sums) + layer.slope_change.of(sums);
    const double in = mean_diagonal(inputs), out = mean_diagonal(outputs);
    // As in K-FAC, each factor gets a share of the ridge in proportion to its size.
    const double balance = in > 0 && out > 0 ? std::sqrt(in / out) : 1;
    const double root = std::sqrt(ridge);
    add_diagonal(inputs, in > 0 ? root * balance + kFloor * in : 1);
    add_diagonal(outputs, root / balance + kFloor * out);
    if (!(mean_diagonal(outputs) > 0)) add_diagonal(outputs, 1);
    layers_.push_back({layer.start,
                       {inputs, layer.input_change.of(sums)},
                       {outputs, layer.slope.of(sums)}});
  }
}

void LayerInverse::apply(Vector& v) const {
  for (const KroneckerBlock& layer : layers_) layer.solve(v, 1, 0, v);
}

}  // namespace fmd::internal
