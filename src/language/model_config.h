#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "fmd/language/language_model.h"

namespace fmd::internal {

// What config.json says about a model, as far as it is needed.
struct ModelConfig {
  std::string type;  // "llama"
  LanguageKind kind = LanguageKind::causal;
  Index vocabulary = 0, cols = 0, context = 0;
  bool tied = false;
  TokenId first = -1;  // bos_token_id; -1 = none

  // The Llama kind.
  Index hidden = 0, layers = 0, heads = 0, key_heads = 0, head_size = 0;
  double norm_epsilon = 0, rope_theta = 0;
  std::string not_native;  // why its states cannot be computed natively; empty: they can
};

// Throws Error(bad_model) that names the field, and Error(unsupported) for a type that is
// not known.
[[nodiscard]] ModelConfig read_model_config(const std::filesystem::path& file);
[[nodiscard]] ModelConfig parse_model_config(std::string_view json,
                                             const std::string& source);

}  // namespace fmd::internal
