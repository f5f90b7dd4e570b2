#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/features.h"

namespace fmd {

// What a forward pass over a block leaves for later sweeps over the same block at the same
// theta. A linear head leaves nothing and pays nothing. With the column of ones, every
// product treats an intercept like any other weight.
struct Tape {
  std::vector<Matrix> value;  // of each hidden layer: its outputs, then a column of ones
  std::vector<Matrix> slope;  // of each hidden layer: the activation's derivative
};

// How logits become probabilities.
//   softmax      exp(z_k) / sum
//   sigmoid      one output: p_1 = 1 / (1 + exp(-z)), p_0 = 1 - p_1
//   one_vs_rest  the sigmoid of each output, divided by their sum
//   identity     the outputs are probabilities already; one output is p_1
// A loss, and with it explain and debias, is defined for the first two.
enum class Link { softmax, sigmoid, one_vs_rest, identity };
[[nodiscard]] std::string to_string(Link link);

class LinearHead;

// The trainable top of a model: features -> logits. It owns no parameters: theta comes in
// as a value, layer by layer; linear_head.h says where each weight of a layer stands. One
// output counts as two classes everywhere.
class Head {
 public:
  virtual ~Head() = default;
  [[nodiscard]] virtual Index inputs() const = 0;
  [[nodiscard]] virtual Index outputs() const = 0;
  [[nodiscard]] virtual Index parameters() const = 0;
  [[nodiscard]] virtual Link link() const {
    return outputs() == 1 ? Link::sigmoid : Link::softmax;
  }
  // This head where it is a linear one, otherwise null. Logits that are linear in theta
  // allow what networks do not: the exact Hessian as a matrix, the path.
  [[nodiscard]] virtual const LinearHead* as_linear() const { return nullptr; }
  [[nodiscard]] bool linear() const { return as_linear() != nullptr; }
  // Numbers in a row from layer to layer: inputs, hidden layers ..., outputs.
  [[nodiscard]] virtual std::vector<Index> widths() const = 0;
  // z = logits of the block's rows (rows x outputs), in double.
  void logits(const FeatureBlock& block, const Vector& theta, Matrix& z) const {
    logits(block, theta, z, nullptr);
  }
  // The same, with the tape for what follows. Adds the block's offset.
  void logits(const FeatureBlock& block, const Vector& theta, Matrix& z, Tape* tape) const;
  // u = J v: the change of the logits along direction v.
  virtual void jvp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
                   const Vector& v, Matrix& u) const = 0;
  // into += J^T h for h of the shape of z.
  virtual void vjp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
                   const Matrix& h, Vector& into) const = 0;
  // into += (sum_ik h_ik d^2 z_ik) v. With h = dL/dz this is what the exact Hessian product
  // adds to Gauss-Newton's J^T S J v. Nothing for a linear head.
  virtual void second(const FeatureBlock& /*block*/, const Vector& /*theta*/,
                      const Vector& /*v*/, const Matrix& /*h*/, Vector& /*into*/) const {}

 protected:
  // The logits without the offset.
  virtual void forward(const FeatureBlock& block, const Vector& theta, Matrix& z,
                       Tape* tape) const = 0;
};

// z += the block's offset. Throws Error(bad_shape) when it has another number of outputs.
void add_offset(const FeatureBlock& block, Eigen::Ref<Matrix> z);

// Throws Error(unsupported), with the reason, for a link without a loss. what: "explain".
void require_loss(const Head& head, const std::string& what);

}  // namespace fmd
