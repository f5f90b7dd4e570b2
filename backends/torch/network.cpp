#include "network.h"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace fmd::torch_plugin {
namespace {

// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

std::uint64_t Draws::bits(std::uint64_t stream, std::uint64_t index) const {
  return mixed(mixed(mixed(seed_) + stream) + index);
}

float Draws::uniform(std::uint64_t stream, std::uint64_t index) const {
  return static_cast<float>(bits(stream, index) >> 40U) * 0x1p-24F;
}

at::Tensor Draws::uniform(std::uint64_t stream, at::IntArrayRef shape, float low,
                          float high) const {
  at::Tensor made = at::empty(shape, at::kFloat);
  float* numbers = made.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < made.numel(); ++i)
    numbers[i] = low + (high - low) * uniform(stream, static_cast<std::uint64_t>(i));
  return made;
}

at::Tensor Draws::permutation(std::uint64_t stream, std::int64_t count) const {
  at::Tensor made = at::arange(count, at::kLong);
  auto* order = made.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = count - 1; i > 0; --i)
    std::swap(order[i], order[bits(stream, static_cast<std::uint64_t>(i)) %
                              static_cast<std::uint64_t>(i + 1)]);
  return made;
}
void Streams::fill(at::Tensor weights, double side) {
  const torch::NoGradGuard guard;
  const auto k = static_cast<float>(side);
  weights.copy_(draws_.uniform(next_++, weights.sizes(), -k, k));
}

torch::nn::Linear dense_layer(std::int64_t inputs, std::int64_t outputs, Streams& streams) {
  torch::nn::Linear layer(torch::nn::LinearOptions(inputs, outputs));
  const double side = 1 / std::sqrt(static_cast<double>(inputs));
  streams.fill(layer->weight, side);
  streams.fill(layer->bias, side);
  return layer;
}

Layers Body::layers() const { throw std::runtime_error("the network is not dense"); }

namespace {

class DenseBody final : public Body {
 public:
  DenseBody(const std::vector<std::int64_t>& widths, Streams& streams)
      : width_(widths.back()) {
    for (std::size_t l = 0; l + 1 < widths.size(); ++l)
      dense_.push_back(register_module(std::to_string(l),
                                       dense_layer(widths[l], widths[l + 1], streams)));
  }
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor z = x;
    for (const torch::nn::Linear& layer : dense_)
      z = at::relu(at::linear(z, layer->weight, layer->bias));
    return z;
  }
  [[nodiscard]] std::int64_t width() const override { return width_; }
  [[nodiscard]] Layers layers() const override {
    Layers all;
    for (const torch::nn::Linear& layer : dense_)
      all.emplace_back(layer->weight.detach(), layer->bias.detach());
    return all;
  }

 private:
  std::vector<torch::nn::Linear> dense_;
  std::int64_t width_;
};

torch::nn::Conv2d convolution(std::int64_t inputs, std::int64_t outputs, std::int64_t size,
                              std::int64_t stride, Streams& streams) {
  torch::nn::Conv2d layer(torch::nn::Conv2dOptions(inputs, outputs, size)
                              .stride(stride)
                              .padding(size / 2)
                              .bias(false));
  streams.fill(layer->weight, std::sqrt(6.0 / static_cast<double>(outputs * size * size)));
  return layer;
}

// Two convolutions, with what came in added at the end.
class Block final : public torch::nn::Module {
 public:
  Block(std::int64_t inputs, std::int64_t outputs, std::int64_t stride, Streams& streams)
      : one_(register_module("one", convolution(inputs, outputs, 3, stride, streams))),
        two_(register_module("two", convolution(outputs, outputs, 3, 1, streams))),
        norm_one_(register_module("norm_one", torch::nn::BatchNorm2d(outputs))),
        norm_two_(register_module("norm_two", torch::nn::BatchNorm2d(outputs))) {
    if (stride == 1 && inputs == outputs) return;
    side_ = register_module("side", convolution(inputs, outputs, 1, stride, streams));
    norm_side_ = register_module("norm_side", torch::nn::BatchNorm2d(outputs));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor z = norm_two_(two_(at::relu(norm_one_(one_(x)))));
    return at::relu(z + (side_ ? norm_side_(side_(x)) : x));
  }

 private:
  torch::nn::Conv2d one_, two_, side_{nullptr};
  torch::nn::BatchNorm2d norm_one_, norm_two_, norm_side_{nullptr};
};

at::Tensor as_images(const at::Tensor& x, const ImageShape& image) {
  return x.reshape({x.size(0), image.channels, image.height, image.width});
}

class ResNetBody final : public Body {
 public:
  ResNetBody(const ImageShape& image, std::int64_t width, Streams& streams)
      : image_(image),
        width_(8 * width),
        stem_(register_module("stem", convolution(image.channels, width, 7, 2, streams))),
        norm_(register_module("norm", torch::nn::BatchNorm2d(width))) {
    std::int64_t inputs = width;
    for (std::int64_t k = 0; k < 8; ++k) {
      const std::int64_t outputs = width << (k / 2);
      const std::int64_t stride = k % 2 == 0 && k > 0 ? 2 : 1;
      blocks_.push_back(
          register_module("block" + std::to_string(k),
                          std::make_shared<Block>(inputs, outputs, stride, streams)));
      inputs = outputs;
    }
  }
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor z = at::relu(norm_(stem_(as_images(x, image_))));
    z = at::max_pool2d(z, {3, 3}, {2, 2}, {1, 1});
    for (const auto& block : blocks_) z = block->forward(z);
    return z.mean({2, 3});
  }
  [[nodiscard]] std::int64_t width() const override { return width_; }

 private:
  ImageShape image_;
  std::int64_t width_;
  torch::nn::Conv2d stem_;
  torch::nn::BatchNorm2d norm_;
  std::vector<std::shared_ptr<Block>> blocks_;
};

class PixelBody final : public Body {
 public:
  PixelBody(const ImageShape& image, const std::vector<std::int64_t>& widths,
            Streams& streams)
      : image_(image) {
    std::vector<std::int64_t> all = {image.channels};
    all.insert(all.end(), widths.begin(), widths.end());
    each_ = register_module("each", std::make_shared<DenseBody>(all, streams));
  }
  at::Tensor forward(const at::Tensor& x) override {
    const std::int64_t places = image_.height * image_.width;
    const at::Tensor pixels = x.reshape({x.size(0), image_.channels, places})
                                  .transpose(1, 2)
                                  .reshape({x.size(0) * places, image_.channels});
    return each_->forward(pixels).reshape({x.size(0), places, width()}).mean(1);
  }
  [[nodiscard]] std::int64_t width() const override { return each_->width(); }

 private:
  ImageShape image_;
  std::shared_ptr<DenseBody> each_;
};

}  // namespace

std::shared_ptr<Body> dense_body(const std::vector<std::int64_t>& widths,
                                 Streams& streams) {
  return std::make_shared<DenseBody>(widths, streams);
}

std::shared_ptr<Body> resnet18_body(const ImageShape& image, std::int64_t width,
                                    Streams& streams) {
  return std::make_shared<ResNetBody>(image, width, streams);
}

std::shared_ptr<Body> pixel_body(const ImageShape& image,
                                 const std::vector<std::int64_t>& widths,
                                 Streams& streams) {
  return std::make_shared<PixelBody>(image, widths, streams);
}

Network::Network(std::shared_ptr<Body> body, std::int64_t outputs, Streams& streams)
    : body_(register_module("body", std::move(body))),
      last_(register_module("last", dense_layer(body_->width(), outputs, streams))) {}

at::Tensor Network::last(const at::Tensor& z) const {
  return at::linear(z, last_->weight, last_->bias);
}

Layers Network::layers() const {
  Layers all = body_->layers();
  all.emplace_back(last_->weight.detach(), last_->bias.detach());
  return all;
}

}  // namespace fmd::torch_plugin
