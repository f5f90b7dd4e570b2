#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "language/tokens/tokenizer_data.h"

namespace fmd::internal {

// Reads tokenizer.json. Throws Error(bad_model, unsupported).
[[nodiscard]] std::shared_ptr<const TokenizerData> read_tokenizer_json(
    std::string_view json, const std::string& source);
[[nodiscard]] std::shared_ptr<const TokenizerData> read_llama2c_tokens(
    std::span<const std::uint8_t> bytes, Index vocabulary, const std::string& source);

}  // namespace fmd::internal
