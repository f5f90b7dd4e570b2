#include "fmd/repro/recolour.h"

#include <algorithm>

#include "core/check.h"
#include "core/gemm.h"
#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/model/linear_head.h"

namespace fmd {
namespace {

// Digits that one thread takes. Fewer than a block, since there are only a few thousand.
constexpr Index kPiece = 512;

// body(first, count) for each piece of the rows.
template <typename Body>
void for_each_piece(Index rows, const Exec& exec, const Body& body) {
  exec.for_each((rows + kPiece - 1) / kPiece, [&](Index piece) {
    body(piece * kPiece, std::min(kPiece, rows - piece * kPiece));
  });
}

// f(W a + b) of one hidden layer, from rows x below to rows x width.
void next_layer(const MlpHead& network, const Vector& theta, Index layer, Matrix& a) {
  const auto [start, head] = layers_of(network)[at(layer)];
  const Index below = head.inputs(), width = head.outputs();
  const Vector own = theta.segment(start, head.parameters());
  const Matrix W = head.W(own);
  // LinearHead reads features as floats; here they are doubles, so gemm is called directly.
  Matrix sums = head.b(own).transpose().replicate(a.rows(), 1);
  gemm(As::is, As::transposed, a.rows(), width, below, {a.data(), below}, {W.data(), below},
       1, {sums.data(), width});
  a.swap(sums);
}

void activate(Activation activation, Matrix& a) {
  if (activation != Activation::relu) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("recolour: activation {} is not supported", to_string(activation)),
        "use a network with relu");
  }
  a = a.cwiseMax(0);
}

}  // namespace

Recolouring::Recolouring(const MlpHead& network, const Vector& theta, const Digits& digits,
                         const Exec& exec)
    : rows_(digits.size()),
      width_(network.widths()[1]),
      network_(network),
      theta_(theta),
      products_(at(rows_ * 3 * width_)) {
  const Index pixels = digits.pixels, inputs = network.inputs();
  require_size("recolour", "theta", theta.size(), network.parameters());
  require_size("recolour", "the network's input", inputs, 3 * pixels);
  const LinearHead lowest = layers_of(network).front().head;
  const Matrix W = lowest.W(theta.head(lowest.parameters()));
  for_each_piece(rows_, exec, [&](Index first, Index count) {
    Matrix grey(count, pixels), product(count, width_);
    for (Index i = 0; i < count; ++i) {
      const auto image = digits.image(first + i);
      for (Index j = 0; j < pixels; ++j)
        grey(i, j) = static_cast<double>(image[at(j)]) / 255;
    }
    for (Index channel = 0; channel < 3; ++channel) {
      gemm(As::is, As::transposed, count, width_, pixels, {grey.data(), pixels},
           {W.data() + channel * pixels, inputs}, 0, {product.data(), width_});
      for (Index i = 0; i < count; ++i)
        for (Index k = 0; k < width_; ++k)
          products_[at(((first + i) * 3 + channel) * width_ + k)] =
              static_cast<float>(product(i, k));
    }
  });
}

std::unique_ptr<Features> Recolouring::features(const Colours& colours, Index layers,
                                                const Exec& exec) const {
  require_option(layers >= 1 && layers < network_.layers(), "recolour", "layers", layers,
                 "from 1 to the number of hidden layers");
  require_size("recolour", "the colours", colours.size(), rows_);
  const Index below = network_.layers() - layers, width = network_.widths()[at(below)];
  const LinearHead lowest = layers_of(network_).front().head;
  const Vector intercept = lowest.b(theta_.head(lowest.parameters()));
  std::vector<float> values(at(rows_ * width));
  for_each_piece(rows_, exec, [&](Index first, Index count) {
    Matrix a(count, width_);
    for (Index i = 0; i < count; ++i) {
      const Colour& paint = colours.paint[at(first + i)];
      const float* product = products_.data() + (first + i) * 3 * width_;
      for (Index k = 0; k < width_; ++k) {
        double sum = intercept[k];
        for (Index channel = 0; channel < 3; ++channel)
          sum += static_cast<double>(paint[at(channel)]) *
                 static_cast<double>(product[channel * width_ + k]);
        a(i, k) = sum;
      }
    }
    activate(network_.activation(), a);
    for (Index layer = 1; layer < below; ++layer) {
      next_layer(network_, theta_, layer, a);
      activate(network_.activation(), a);
    }
    Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
        values.data() + first * width, count, width) = a.cast<float>();
  });
  return make_dense(std::move(values), rows_, width);
}

TopLayers top_layers(const MlpHead& network, const Vector& theta, Index layers) {
  require_option(layers >= 1 && layers <= network.layers(), "layers", "layers", layers,
                 "from 1 to the number of layers");
  require_size("layers", "theta", theta.size(), network.parameters());
  const Index below = network.layers() - layers;
  const std::vector<Index> widths = network.widths();
  const Index start = network.layer_starts()[at(below)];
  return {make_head({widths.begin() + below, widths.end()}, network.activation()),
          theta.tail(theta.size() - start)};
}

}  // namespace fmd
