#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <torch/nn.h>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

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

// Streams of random numbers for the weights of one network.
class Streams {
 public:
  Streams(const Draws& draws, std::uint64_t first) : draws_(draws), next_(first) {}
  // Fills a tensor with numbers that are uniform in +-side.
  void fill(at::Tensor weights, double side);

 private:
  const Draws& draws_;
  std::uint64_t next_;
};

// W and b of dense layers, the lowest first.
using Layers = std::vector<std::pair<at::Tensor, at::Tensor>>;

// A dense layer; weights and intercepts begin uniform in +-1 / sqrt(inputs).
[[nodiscard]] torch::nn::Linear dense_layer(std::int64_t inputs, std::int64_t outputs,
                                            Streams& streams);

// The layers of a network below the last one: rows in, features out.
class Body : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
  [[nodiscard]] virtual std::int64_t width() const = 0;  // features
  // Throws std::runtime_error for a body that is not of dense layers with ReLU.
  [[nodiscard]] virtual Layers layers() const;
};

// widths[0] inputs, then dense layers with ReLU.
[[nodiscard]] std::shared_ptr<Body> dense_body(const std::vector<std::int64_t>& widths,
                                               Streams& streams);

// An image's channels, height and width. A row has all pixels of the first channel, row
// after row, then the next channel.
struct ImageShape {
  std::int64_t channels = 0, height = 0, width = 0;
};
// ResNet-18: 7 x 7 with stride 2, pooling, four stages of two blocks with `width` to
// 8 `width` channels, and the mean over all places. Convolutions begin uniform with the
// variance 2 / (outputs x places of the kernel), batch norms as the identity.
[[nodiscard]] std::shared_ptr<Body> resnet18_body(const ImageShape& image,
                                                  std::int64_t width, Streams& streams);
// Sees single pixels: dense layers with ReLU for each of them, then the mean over all
// places. It knows colours and no shapes.
[[nodiscard]] std::shared_ptr<Body> pixel_body(const ImageShape& image,
                                               const std::vector<std::int64_t>& widths,
                                               Streams& streams);

// A body and the last layer.
class Network : public torch::nn::Module {
 public:
  Network(std::shared_ptr<Body> body, std::int64_t outputs, Streams& streams);
  at::Tensor features(const at::Tensor& x) { return body_->forward(x); }
  at::Tensor last(const at::Tensor& z) const;
  at::Tensor forward(const at::Tensor& x) { return last(features(x)); }
  // All of them; throws as those of the body.
  [[nodiscard]] Layers layers() const;

 private:
  std::shared_ptr<Body> body_;
  torch::nn::Linear last_{nullptr};
};

}  // namespace fmd::torch_plugin
