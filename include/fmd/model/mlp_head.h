#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

enum class Activation {
  relu,  // max(x, 0); slope 0 at 0
  tanh,
  gelu,  // x Phi(x), Phi the normal distribution function: exact, no approximation
};
[[nodiscard]] std::string to_string(Activation activation);
[[nodiscard]] Activation parse_activation(const std::string& name);  // Error(bad_option)

// Dense layers: a_0 = features, a_l = f(W_l a_{l-1} + b_l) for hidden layers, z = W_L
// a_{L-1} + b_L. theta holds the layers one after the other, each in the order of a linear
// head. Cost for n rows and p parameters: logits n p multiply-adds, jvp and vjp 2 n p less
// the first layer's share, second 6 n p. Numbers are double. A row's last bits may depend
// on its place in the block.
class MlpHead final : public Head {
 public:
  // widths: inputs, at least one hidden layer, outputs. Throws Error(bad_option).
  MlpHead(std::vector<Index> widths, Activation activation);

  [[nodiscard]] Index inputs() const override { return widths_.front(); }
  [[nodiscard]] Index outputs() const override { return widths_.back(); }
  [[nodiscard]] Index parameters() const override { return start_.back(); }
  [[nodiscard]] std::vector<Index> widths() const override { return widths_; }
  [[nodiscard]] Activation activation() const { return activation_; }
  // Layers of weights: one more than hidden layers.
  [[nodiscard]] Index layers() const { return static_cast<Index>(widths_.size()) - 1; }
  // Where layer l's parameters begin in theta, l = 0 .. layers(); the last is their number.
  [[nodiscard]] const std::vector<Index>& layer_starts() const { return start_; }

  void jvp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Vector& v, Matrix& u) const override;
  void vjp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Matrix& h, Vector& into) const override;
  void second(const FeatureBlock& block, const Vector& theta, const Vector& v,
              const Matrix& h, Vector& into) const override;

  // a = the outputs of hidden layer `layer` = 1 .. layers() - 1 (rows x its width). Only
  // the parameters up to this layer are read: theta may end there.
  void hidden(const FeatureBlock& block, const Vector& theta, Index layer, Matrix& a) const;

 protected:
  void forward(const FeatureBlock& block, const Vector& theta, Matrix& z,
               Tape* tape) const override;

 private:
  enum class Derivatives { none, kept };
  // Outputs of the first `upto` hidden layers and, on request, the first and second
  // derivatives of the activations.
  void run_layers(const FeatureBlock& block, const Vector& theta, Index upto, Tape& tape,
                  Derivatives derivatives, std::vector<Matrix>* bends) const;
  // W a + b of layer l from the tape, or from the features.
  void layer_sums(const FeatureBlock& block, const Vector& theta, Index l, const Tape& tape,
                  Matrix& sums) const;
  // into's layer l += h^T (a, 1).
  void layer_vjp(const FeatureBlock& block, Index l, const Tape& tape, const Matrix& h,
                 Vector& into) const;
  void require(const FeatureBlock& block, const Vector& theta, const Tape* tape) const;

  std::vector<Index> widths_, start_;
  Activation activation_;
};

// A linear head for two widths, otherwise an MlpHead.
[[nodiscard]] std::shared_ptr<const Head> make_head(std::vector<Index> widths,
                                                    Activation activation);

}  // namespace fmd
