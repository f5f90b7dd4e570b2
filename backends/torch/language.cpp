// Trains language models of the Llama kind on.
#include "language.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <map>
#include <stdexcept>
#include <string>
#include <torch/optim.h>

#include <nlohmann/json.hpp>

#include "guarded.h"

namespace fmd::torch_plugin {
namespace {

struct LlamaShape {
  std::int64_t layers, heads, key_heads, head_size;
  double epsilon, theta, dropout;
  bool tied;
};

class LlamaTraining {
 public:
  LlamaTraining(const nlohmann::json& s, const FmdTorchWeights* weights, std::int32_t count)
      : shape_{s.at("layers"),  s.at("heads"), s.at("key_heads"), s.at("head_size"),
               s.at("epsilon"), s.at("theta"), s.at("dropout"),   s.at("tied")} {
    for (std::int32_t k = 0; k < count; ++k) {
      const FmdTorchWeights& w = weights[k];
      at::Tensor tensor = at::from_blob(w.numbers, {w.rows, w.cols},
                                        at::TensorOptions(at::kFloat).requires_grad(false));
      if (w.cols == 1) tensor = tensor.squeeze(1);
      tensor_[w.name] = tensor.requires_grad_(true);
    }
  }

  [[nodiscard]] std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> all;
    for (const auto& [name, tensor] : tensor_) all.push_back(tensor);
    return all;
  }

  // Mean loss of the next token of each sequence.
  [[nodiscard]] at::Tensor loss(const at::Tensor& ids) const {
    at::Tensor x = dropped(at::embedding(weight("model.embed_tokens.weight"), ids));
    const auto [cosine, sine] = rotation(ids.size(1));
    for (std::int64_t l = 0; l < shape_.layers; ++l) x = layer(l, x, cosine, sine);
    x = normal(x, weight("model.norm.weight"));
    const at::Tensor logits =
        at::linear(x, weight(shape_.tied ? "model.embed_tokens.weight" : "lm_head.weight"));
    const std::int64_t words = logits.size(2);
    return at::cross_entropy_loss(logits.slice(1, 0, ids.size(1) - 1).reshape({-1, words}),
                                  ids.slice(1, 1).reshape({-1}));
  }

 private:
  [[nodiscard]] const at::Tensor& weight(const std::string& name) const {
    const auto found = tensor_.find(name);
    if (found == tensor_.end())
      throw std::runtime_error("the tensor " + name + " is missing");
    return found->second;
  }
  [[nodiscard]] at::Tensor dropped(const at::Tensor& x) const {
    return shape_.dropout > 0 ? at::dropout(x, shape_.dropout, true) : x;
  }
  [[nodiscard]] at::Tensor normal(const at::Tensor& x, const at::Tensor& scale) const {
    return x * at::rsqrt(x.pow(2).mean(-1, true) + shape_.epsilon) * scale;
  }
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> rotation(std::int64_t length) const {
    const at::Tensor frequency =
        at::pow(shape_.theta, at::arange(0, shape_.head_size, 2, at::kDouble) /
                                  -static_cast<double>(shape_.head_size));
    const at::Tensor angle = at::outer(at::arange(length, at::kDouble), frequency);
    const at::Tensor both = at::cat({angle, angle}, 1);
    return {both.cos().to(at::kFloat), both.sin().to(at::kFloat)};
  }
  [[nodiscard]] at::Tensor heads(const at::Tensor& x, const std::string& name,
                                 std::int64_t count) const {
    return at::linear(x, weight(name))
        .view({x.size(0), x.size(1), count, shape_.head_size})
        .transpose(1, 2);
  }
  [[nodiscard]] static at::Tensor turned(const at::Tensor& x, const at::Tensor& cosine,
                                         const at::Tensor& sine) {
    const std::int64_t half = x.size(3) / 2;
    const at::Tensor other = at::cat({-x.slice(3, half), x.slice(3, 0, half)}, 3);
    return x * cosine + other * sine;
  }
  [[nodiscard]] at::Tensor layer(std::int64_t l, const at::Tensor& x,
                                 const at::Tensor& cosine, const at::Tensor& sine) const {
    const std::string start = "model.layers." + std::to_string(l) + ".";
    const auto named = [&](const char* name) { return start + name + ".weight"; };
    const at::Tensor n = normal(x, weight(named("input_layernorm")));
    const at::Tensor q =
        turned(heads(n, named("self_attn.q_proj"), shape_.heads), cosine, sine);
    const std::int64_t group = shape_.heads / shape_.key_heads;
    const at::Tensor k =
        turned(heads(n, named("self_attn.k_proj"), shape_.key_heads), cosine, sine)
            .repeat_interleave(group, 1);
    const at::Tensor v =
        heads(n, named("self_attn.v_proj"), shape_.key_heads).repeat_interleave(group, 1);
    const at::Tensor mixed =
        at::scaled_dot_product_attention(q, k, v, std::nullopt, shape_.dropout, true)
            .transpose(1, 2)
            .reshape({x.size(0), x.size(1), -1});
    const at::Tensor y = x + dropped(at::linear(mixed, weight(named("self_attn.o_proj"))));
    const at::Tensor m = normal(y, weight(named("post_attention_layernorm")));
    const at::Tensor gate = at::silu(at::linear(m, weight(named("mlp.gate_proj"))));
    return y + dropped(at::linear(gate * at::linear(m, weight(named("mlp.up_proj"))),
                                  weight(named("mlp.down_proj"))));
  }

  LlamaShape shape_;
  std::map<std::string, at::Tensor> tensor_;
};

at::Tensor ids_of(const FmdTorchTokens& tokens) {
  return at::from_blob(const_cast<std::int32_t*>(tokens.token), {tokens.rows, tokens.cols},
                       at::TensorOptions(at::kInt))
      .to(at::kLong);
}

void train(const nlohmann::json& s, const LlamaTraining& model, const at::Tensor& ids,
           int (*told)(void*, std::int64_t, std::int64_t, double), void* to) {
  const std::int64_t batch = s.at("batch"), steps = ids.size(0) / batch;
  if (batch < 1 || steps < 1 || ids.size(1) < 2)
    throw std::runtime_error("there are fewer sequences than a step needs");
  const double rate = s.at("rate");
  torch::optim::AdamW optimizer(model.parameters(),
                                torch::optim::AdamWOptions(rate).weight_decay(0));
  for (std::int64_t step = 0; step < steps; ++step) {
    static_cast<torch::optim::AdamWOptions&>(optimizer.param_groups()[0].options())
        .lr(rate * static_cast<double>(steps - step) / static_cast<double>(steps));
    optimizer.zero_grad();
    double sum = 0;
    // One sequence at a time: the logits of a whole batch would take much memory.
    for (std::int64_t k = step * batch; k < (step + 1) * batch; ++k) {
      const at::Tensor loss = model.loss(ids.slice(0, k, k + 1)) / batch;
      loss.backward();
      sum += loss.item<double>();
    }
    optimizer.step();
    if (told(to, step + 1, steps, sum) == 0) throw std::runtime_error("it was stopped");
  }
}

int train_language(const char* settings, const FmdTorchWeights* weights, std::int32_t count,
                   const FmdTorchTokens* tokens,
                   int (*told)(void*, std::int64_t, std::int64_t, double), void* to,
                   char* message, std::size_t room) {
  return guarded(message, room, 0, [&] {
    const nlohmann::json s = nlohmann::json::parse(settings);
    at::set_num_threads(s.at("threads").get<int>());
    at::manual_seed(s.at("seed").get<std::uint64_t>());
    train(s, LlamaTraining(s, weights, count), ids_of(*tokens), told, to);
    return 1;
  });
}

}  // namespace

void add_language(FmdTorch& table) { table.train_language = train_language; }

}  // namespace fmd::torch_plugin
