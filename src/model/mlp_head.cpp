#include "fmd/model/mlp_head.h"

#include <limits>

#include "core/check.h"
#include "core/gemm.h"
#include "core/index.h"
#include "fmd/model/linear_head.h"
#include "model/activation.h"

namespace fmd {
namespace {

// f(sums) with a column of ones behind, and the derivatives where they are asked for.
void activate(Activation activation, const Matrix& sums, Matrix& value, Matrix* slope,
              Matrix* bend) {
  const Index rows = sums.rows(), width = sums.cols();
  value.resize(rows, width + 1);
  if (slope != nullptr) slope->resize(rows, width);
  if (bend != nullptr) bend->resize(rows, width);
  with_activation<double>(activation, [&](auto f) {
    for (Index i = 0; i < rows; ++i) {
      const double* const x = sums.data() + i * width;
      double* const to = value.data() + i * (width + 1);
      for (Index k = 0; k < width; ++k) {
        const Bent<double> y = f(x[k]);
        to[k] = y.value;
        if (slope != nullptr) slope->data()[i * width + k] = y.slope;
        if (bend != nullptr) bend->data()[i * width + k] = y.bend;
      }
      to[width] = 1;
    }
  });
}

}  // namespace

std::string to_string(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::tanh:
      return "tanh";
    case Activation::gelu:
      return "gelu";
  }
  return "";
}

Activation parse_activation(const std::string& name) {
  for (const Activation a : {Activation::relu, Activation::tanh, Activation::gelu})
    if (name == to_string(a)) return a;
  throw Error(ErrorKind::bad_option, fmt::format("activation is '{}'", name),
              "write relu, tanh or gelu");
}

MlpHead::MlpHead(std::vector<Index> widths, Activation activation)
    : widths_(std::move(widths)), start_{0}, activation_(activation) {
  require_option(widths_.size() >= 3, "mlp head", "hidden layers",
                 static_cast<Index>(widths_.size()) - 2, ">= 1");
  require_option(widths_.front() >= 0, "mlp head", "inputs", widths_.front(), ">= 0");
  for (std::size_t l = 1; l < widths_.size(); ++l) {
    const Index below = widths_[l - 1], width = widths_[l];
    require_option(width >= 1, "mlp head", "width", width, ">= 1");
    // BLAS counts in int.
    constexpr Index most = std::numeric_limits<std::int32_t>::max() - 1;
    require_option(width < most && below < most / width, "mlp head", "width", width,
                   "smaller, for the width of the layer below");
    start_.push_back(start_.back() + width * (below + 1));
  }
}

void MlpHead::require(const FeatureBlock& block, const Vector& theta,
                      const Tape* tape) const {
  require_size("mlp head", "theta", theta.size(), parameters());
  require_size("mlp head", "a row of features", block.cols, inputs());
  if (tape == nullptr) return;
  require_size("mlp head", "the tape", static_cast<Index>(tape->slope.size()),
               layers() - 1);
  for (const Matrix& slope : tape->slope)
    require_size("mlp head", "the tape's layer", slope.rows(), block.rows);
}

void MlpHead::layer_sums(const FeatureBlock& block, const Vector& theta, Index l,
                         const Tape& tape, Matrix& sums) const {
  const Index below = widths_[at(l)], width = widths_[at(l + 1)];
  if (l == 0) {
    const Vector first = theta.head(start_[1]);
    LinearHead(below, width).jvp(block, first, {}, first, sums);  // without an offset
    return;
  }
  sums.resize(block.rows, width);
  gemm(As::is, As::transposed, block.rows, width, below + 1,
       {tape.value[at(l - 1)].data(), below + 1}, {theta.data() + start_[at(l)], below + 1},
       0, {sums.data(), width});
}

void MlpHead::run_layers(const FeatureBlock& block, const Vector& theta, Index upto,
                         Tape& tape, Derivatives derivatives,
                         std::vector<Matrix>* bends) const {
  const std::size_t count = at(upto);
  const bool slopes = derivatives == Derivatives::kept;
  tape.value.resize(count);
  tape.slope.resize(slopes ? count : 0);
  if (bends != nullptr) bends->resize(count);
  Matrix sums;
  for (std::size_t l = 0; l < count; ++l) {
    layer_sums(block, theta, static_cast<Index>(l), tape, sums);
    activate(activation_, sums, tape.value[l], slopes ? &tape.slope[l] : nullptr,
             bends == nullptr ? nullptr : &(*bends)[l]);
  }
}

void MlpHead::forward(const FeatureBlock& block, const Vector& theta, Matrix& z,
                      Tape* tape) const {
  require(block, theta, nullptr);
  Tape own;
  Tape& used = tape == nullptr ? own : *tape;
  run_layers(block, theta, layers() - 1, used,
             tape == nullptr ? Derivatives::none : Derivatives::kept, nullptr);
  layer_sums(block, theta, layers() - 1, used, z);
}

void MlpHead::hidden(const FeatureBlock& block, const Vector& theta, Index layer,
                     Matrix& a) const {
  require_option(layer >= 1 && layer < layers(), "mlp head", "layer", layer,
                 "a hidden layer's number");
  require_size("mlp head", "a row of features", block.cols, inputs());
  if (theta.size() < start_[at(layer)])
    require_size("mlp head", "theta", theta.size(), start_[at(layer)]);
  Tape tape;
  run_layers(block, theta, layer, tape, Derivatives::none, nullptr);
  a = tape.value.back().leftCols(widths_[at(layer)]);
}

void MlpHead::jvp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
                  const Vector& v, Matrix& u) const {
  require(block, theta, &tape);
  require_size("mlp head", "v", v.size(), parameters());
  Matrix change;  // of the layer below's outputs
  for (Index l = 0; l < layers(); ++l) {
    const Index below = widths_[at(l)], width = widths_[at(l + 1)];
    layer_sums(block, v, l, tape, u);
    if (l > 0)
      gemm(As::is, As::transposed, block.rows, width, below, {change.data(), below},
           {theta.data() + start_[at(l)], below + 1}, 1, {u.data(), width});
    if (l + 1 < layers()) change = u.cwiseProduct(tape.slope[at(l)]);
  }
}

void MlpHead::layer_vjp(const FeatureBlock& block, Index l, const Tape& tape,
                        const Matrix& h, Vector& into) const {
  const Index below = widths_[at(l)], width = widths_[at(l + 1)];
  if (l == 0) {
    Vector part = into.head(start_[1]);
    LinearHead(below, width).vjp(block, part, {}, h, part);
    into.head(start_[1]) = part;
    return;
  }
  gemm(As::transposed, As::is, width, below + 1, block.rows, {h.data(), width},
       {tape.value[at(l - 1)].data(), below + 1}, 1,
       {into.data() + start_[at(l)], below + 1});
}

void MlpHead::vjp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
                  const Matrix& h, Vector& into) const {
  require(block, theta, &tape);
  require_size("mlp head", "the sum", into.size(), parameters());
  require_size("mlp head", "h", h.size(), block.rows * outputs());
  Matrix delta, below_delta;
  for (Index l = layers() - 1; l >= 0; --l) {
    const Matrix& from = l == layers() - 1 ? h : delta;
    layer_vjp(block, l, tape, from, into);
    if (l == 0) return;
    const Index below = widths_[at(l)], width = widths_[at(l + 1)];
    below_delta.resize(block.rows, below);
    gemm(As::is, As::is, block.rows, below, width, {from.data(), width},
         {theta.data() + start_[at(l)], below + 1}, 0, {below_delta.data(), below});
    below_delta.array() *= tape.slope[at(l - 1)].array();
    delta.swap(below_delta);
  }
}

// Forward and backward sweeps, each with its derivative along v. With delta_l = dz^T h /
// d(sums of layer l), the product's layer l is d(delta_l)^T (a, 1) + delta_l^T (da, 0),
// where d(delta_l) starts from 0: h itself is held.
void MlpHead::second(const FeatureBlock& block, const Vector& theta, const Vector& v,
                     const Matrix& h, Vector& into) const {
  require(block, theta, nullptr);
  require_size("mlp head", "v", v.size(), parameters());
  require_size("mlp head", "the sum", into.size(), parameters());
  require_size("mlp head", "h", h.size(), block.rows * outputs());
  Tape tape;
  std::vector<Matrix> bends;
  run_layers(block, theta, layers() - 1, tape, Derivatives::kept, &bends);
  // Along v: sums of each hidden layer, and its outputs.
  std::vector<Matrix> sums(at(layers() - 1)), outs(at(layers() - 1));
  for (Index l = 0; l + 1 < layers(); ++l) {
    const Index below = widths_[at(l)], width = widths_[at(l + 1)];
    layer_sums(block, v, l, tape, sums[at(l)]);
    if (l > 0)
      gemm(As::is, As::transposed, block.rows, width, below,
           {outs[at(l - 1)].data(), below}, {theta.data() + start_[at(l)], below + 1}, 1,
           {sums[at(l)].data(), width});
    outs[at(l)] = sums[at(l)].cwiseProduct(tape.slope[at(l)]);
  }
  Matrix delta = h, change = Matrix::Zero(block.rows, outputs());
  for (Index l = layers() - 1; l >= 0; --l) {
    const Index below = widths_[at(l)], width = widths_[at(l + 1)];
    layer_vjp(block, l, tape, change, into);
    if (l == 0) return;
    gemm(As::transposed, As::is, width, below, block.rows, {delta.data(), width},
         {outs[at(l - 1)].data(), below}, 1, {into.data() + start_[at(l)], below + 1});
    const Strided<const double> W{theta.data() + start_[at(l)], below + 1},
        V{v.data() + start_[at(l)], below + 1};
    Matrix back(block.rows, below), back_change(block.rows, below);
    gemm(As::is, As::is, block.rows, below, width, {delta.data(), width}, W, 0,
         {back.data(), below});
    gemm(As::is, As::is, block.rows, below, width, {change.data(), width}, W, 0,
         {back_change.data(), below});
    gemm(As::is, As::is, block.rows, below, width, {delta.data(), width}, V, 1,
         {back_change.data(), below});
    const Matrix &slope = tape.slope[at(l - 1)], &bend = bends[at(l - 1)];
    change = back_change.cwiseProduct(slope) +
             back.cwiseProduct(bend).cwiseProduct(sums[at(l - 1)]);
    delta = back.cwiseProduct(slope);
  }
}

std::shared_ptr<const Head> make_head(std::vector<Index> widths, Activation activation) {
  if (widths.size() == 2) return std::make_shared<LinearHead>(widths[0], widths[1]);
  return std::make_shared<MlpHead>(std::move(widths), activation);
}

}  // namespace fmd
