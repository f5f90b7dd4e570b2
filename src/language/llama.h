#pragma once

#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/language/language_model.h"
#include "language/model_config.h"

namespace fmd::internal {

// The weights of one layer. Rows are outputs.
struct LlamaLayer {
  std::vector<float> attention_norm, network_norm;
  FloatMatrix query, key, value, output;  // (heads x size) x d, ..., d x (heads x size)
  FloatMatrix gate, up, down;             // hidden x d, hidden x d, d x hidden
};

// A model of the Llama kind without its head, float32:
//
//   x <- embedding[token]
//   per layer   x <- x + O attention(rotated Q n(x), rotated K n(x), V n(x))
//               x <- x + D (silu(G n(x)) * U n(x))
//   state = n(x), with n(x) = x / rms(x) * weight
struct Llama {
  ModelConfig config;
  const FloatMatrix* embedding = nullptr;  // vocabulary x d; the head's where it is tied
  std::vector<LlamaLayer> layers;
  std::vector<float> norm;
  bool adjacent_pairs = false;  // rotated together: 2i and 2i + 1 (llama2.c); i and i + d/2
};

// States of all nodes of the plan: prefixes that sentences share are computed once. Nodes
// are worked on in units of about a thousand, with the tokens before them; all layers for
// a unit at once, so that every weight is used by one large product.
[[nodiscard]] FloatMatrix llama_states(const Llama& model, const StatePlan& plan,
                                       const Exec& exec);

}  // namespace fmd::internal
