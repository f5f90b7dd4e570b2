#include "network.h"

#include <cmath>
#include <numeric>
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

Dense::Dense(const std::vector<std::int64_t>& widths, const Draws& draws,
             std::uint64_t stream, bool relu_at_end)
    : relu_at_end_(relu_at_end) {
  const torch::NoGradGuard guard;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    torch::nn::Linear layer = register_module(
        std::to_string(l),
        torch::nn::Linear(torch::nn::LinearOptions(widths[l], widths[l + 1])));
    const float k = 1 / std::sqrt(static_cast<float>(widths[l]));
    layer->weight.copy_(draws.uniform(stream + 2 * l, layer->weight.sizes(), -k, k));
    layer->bias.copy_(draws.uniform(stream + 2 * l + 1, layer->bias.sizes(), -k, k));
    layers_.push_back(std::move(layer));
  }
}

at::Tensor Dense::features(const at::Tensor& x) const {
  at::Tensor z = x;
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l)
    z = at::relu(at::linear(z, layers_[l]->weight, layers_[l]->bias));
  return z;
}

at::Tensor Dense::last(const at::Tensor& z) const {
  return at::linear(z, layers_.back()->weight, layers_.back()->bias);
}

at::Tensor Dense::forward(const at::Tensor& x) const {
  const at::Tensor z = last(features(x));
  return relu_at_end_ ? at::relu(z) : z;
}

}  // namespace fmd::torch_plugin
