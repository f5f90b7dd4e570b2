#pragma once

#include <span>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/rows.h"

namespace fmd {

// What a forward pass over a block leaves for the sweeps that follow it over the same block
// at the same theta. A linear head leaves nothing.
struct Tape {
  std::vector<Matrix> value;  // of each hidden layer: its outputs, then a column of ones
  std::vector<Matrix> slope;  // of each hidden layer: the activation's derivative
};

// The trainable top of a model: features -> logits. Owns no parameters; theta comes in as a
// value, layer by layer, each layer's rows as weights followed by the intercept: W_k | b_k.
// One output means a sigmoid, which everywhere counts as two classes; C outputs mean
// softmax.
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
  // into += (sum_ik h_ik d^2 z_ik) v: with h = dL/dz what the exact Hessian product has
  // beyond Gauss-Newton's J^T S J v. Nothing for a linear head.
  virtual void second(const FeatureBlock& block, const Vector& theta, const Vector& v,
                      const Matrix& h, Vector& into) const;
};

// z = W phi + b. parameters = outputs (inputs + 1).
class LinearHead final : public Head {
 public:
  LinearHead(Index inputs, Index outputs);
  [[nodiscard]] Index inputs() const override { return inputs_; }
  [[nodiscard]] Index outputs() const override { return outputs_; }
  [[nodiscard]] Index parameters() const override { return outputs_ * (inputs_ + 1); }
  [[nodiscard]] bool linear() const override { return true; }
  [[nodiscard]] std::vector<Index> widths() const override { return {inputs_, outputs_}; }
  using Head::logits;
  void logits(const FeatureBlock& block, const Vector& theta, Matrix& z,
              Tape* tape) const override;
  void jvp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Vector& v, Matrix& u) const override;
  void vjp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Matrix& h, Vector& into) const override;

 private:
  Index inputs_, outputs_;
};

// ---- The loss and its derivatives, as functions of logits (one row each)
// --------------------

[[nodiscard]] constexpr Index classes_of(Index outputs) {
  return outputs == 1 ? 2 : outputs;
}

// Probabilities of all classes from one row of logits: softmax, or {1 - s, s} for one
// output.
void probabilities(std::span<const double> z, std::span<double> p);

// -log p_y, exact for large |z|.
[[nodiscard]] double log_loss(std::span<const double> z, std::int32_t y);

// d log_loss / d z = p - e_y (one output: p1 - y).
void log_loss_gradient(std::span<const double> z, std::int32_t y, std::span<double> dz);

// r = S u with S = diag(p) - p p^T, the derivative of p with respect to z (one output:
// p(1-p) u).
void apply_softmax_slope(std::span<const double> p, std::span<const double> u,
                         std::span<double> r);

// ---- Passes over rows, on the pool, with the same bits for any number of threads
// -------------

// Logits of every entry (size x outputs).
[[nodiscard]] Matrix all_logits(const Head& head, const Rows& rows, const Vector& theta,
                                const Exec& exec);
// Probabilities of all classes of every entry (size x classes).
[[nodiscard]] Matrix all_probabilities(const Head& head, const Rows& rows,
                                       const Vector& theta, const Exec& exec);

// dz / dx_j of every entry (size x outputs): how the logits change with feature j.
[[nodiscard]] Matrix all_input_slopes(const Head& head, const Rows& rows,
                                      const Vector& theta, Index feature, const Exec& exec);

struct Objective {
  double value = 0;  // F
  Vector gradient;
};

// F(theta) = (1/n) sum_i w_i L_i + (l2/2) |theta without intercepts|^2 and its gradient. n
// is the number of rows of the original training set: rows_in_mean, or rows.size() when 0.
[[nodiscard]] Objective objective(const Head& head, const Rows& rows, const Vector& theta,
                                  double l2, double rows_in_mean, const Exec& exec);

// l2 theta[j] for weights, 0 for intercepts, of every layer.
[[nodiscard]] Vector ridge_gradient(const Head& head, const Vector& theta, double l2);

}  // namespace fmd
