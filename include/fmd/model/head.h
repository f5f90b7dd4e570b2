#pragma once

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

// The trainable top of a model: features -> logits. It owns no parameters: theta comes in
// as a value, layer by layer, each layer row by row, a row as its weights followed by its
// intercept: W_k | b_k. One output means a sigmoid, which counts as two classes everywhere.
// C outputs mean softmax.
class Head {
 public:
  virtual ~Head() = default;
  [[nodiscard]] virtual Index inputs() const = 0;
  [[nodiscard]] virtual Index outputs() const = 0;
  [[nodiscard]] virtual Index parameters() const = 0;
  [[nodiscard]] virtual bool linear() const = 0;
  // Numbers in a row from layer to layer: inputs, hidden layers ..., outputs.
  [[nodiscard]] virtual std::vector<Index> widths() const = 0;
  // z = logits of the block's rows (rows x outputs), in double.
  void logits(const FeatureBlock& block, const Vector& theta, Matrix& z) const {
    logits(block, theta, z, nullptr);
  }
  // The same, with the tape for what follows.
  virtual void logits(const FeatureBlock& block, const Vector& theta, Matrix& z,
                      Tape* tape) const = 0;
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
};

}  // namespace fmd
