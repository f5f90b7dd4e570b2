#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/rows.h"

namespace fmd {

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
  // z = logits of the block's rows (rows x outputs), in double.
  virtual void logits(const FeatureBlock& block, const Vector& theta, Matrix& z) const = 0;
  // u = J v: the change of the logits along direction v.
  virtual void jvp(const FeatureBlock& block, const Vector& theta, const Vector& v,
                   Matrix& u) const = 0;
  // into += J^T h for h of the shape of z.
  virtual void vjp(const FeatureBlock& block, const Vector& theta, const Matrix& h,
                   Vector& into) const = 0;
};

// z = W phi + b. parameters = outputs (inputs + 1).
class LinearHead final : public Head {
 public:
  LinearHead(Index inputs, Index outputs);
  [[nodiscard]] Index inputs() const override { return inputs_; }
  [[nodiscard]] Index outputs() const override { return outputs_; }
  [[nodiscard]] Index parameters() const override { return outputs_ * (inputs_ + 1); }
  [[nodiscard]] bool linear() const override { return true; }
  void logits(const FeatureBlock& block, const Vector& theta, Matrix& z) const override;
  void jvp(const FeatureBlock& block, const Vector& theta, const Vector& v,
           Matrix& u) const override;
  void vjp(const FeatureBlock& block, const Vector& theta, const Matrix& h,
           Vector& into) const override;

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

struct Objective {
  double value = 0;  // F
  Vector gradient;
};

// F(theta) = (1/n) sum_i w_i L_i + (l2/2) |theta without intercepts|^2 and its gradient. n
// is the number of rows of the original training set: rows_in_mean, or rows.size() when 0.
[[nodiscard]] Objective objective(const Head& head, const Rows& rows, const Vector& theta,
                                  double l2, double rows_in_mean, const Exec& exec);

// into[j] = l2 theta[j] for weights, 0 for intercepts.
[[nodiscard]] Vector ridge_gradient(const Head& head, const Vector& theta, double l2);

}  // namespace fmd
