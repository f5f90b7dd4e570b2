#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <torch/nn.h>
#include <vector>

namespace fmd::torch_plugin {

// Random numbers by their place: the same seed, stream and index give the same number,
// whatever was drawn before.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] std::uint64_t bits(std::uint64_t stream, std::uint64_t index) const;
  // In [0, 1), a multiple of 2^-24.
  [[nodiscard]] float uniform(std::uint64_t stream, std::uint64_t index) const;
  [[nodiscard]] at::Tensor uniform(std::uint64_t stream, at::IntArrayRef shape, float low,
                                   float high) const;
  // 0 .. count-1 in random order.
  [[nodiscard]] at::Tensor permutation(std::uint64_t stream, std::int64_t count) const;

 private:
  std::uint64_t seed_;
};

// Dense layers with ReLU between them: widths[0] inputs ... widths.back() outputs. Weights
// and intercepts begin uniform in +-1 / sqrt(inputs of the layer).
class Dense : public torch::nn::Module {
 public:
  Dense(const std::vector<std::int64_t>& widths, const Draws& draws, std::uint64_t stream,
        bool relu_at_end = false);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  // What the last layer reads.
  [[nodiscard]] at::Tensor features(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor last(const at::Tensor& z) const;
  [[nodiscard]] const std::vector<torch::nn::Linear>& layers() const { return layers_; }

 private:
  std::vector<torch::nn::Linear> layers_;
  bool relu_at_end_;
};

}  // namespace fmd::torch_plugin
