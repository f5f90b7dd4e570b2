#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

using TokenId = std::int32_t;
using TokenIds = std::vector<TokenId>;

// Text to token numbers and back, as the files of a model say: tokenizer.json of Hugging
// Face, or the tokenizer of llama2.c. Three kinds are known:
//
//   byte_bpe   pairs of byte symbols are merged by rank (GPT-2, RoBERTa, Llama 3, SmolLM)
//   char_bpe   pairs of characters are merged by rank, unknown ones become bytes (Llama 2)
//   wordpiece  words are cut from the left into the longest known pieces (BERT)
//
// Ids equal those of the PyPI package `tokenizers`. Thread-safe: encode() changes nothing.
enum class TokenizerKind { byte_bpe, char_bpe, wordpiece };

struct TokenizerData;  // private to the source

class Tokenizer {
 public:
  // Throws Error(cannot_read); Error(bad_model) for a damaged file, and Error(unsupported)
  // for a model, normaliser or pre-tokeniser that is none of the three kinds.
  [[nodiscard]] static Tokenizer open(const std::filesystem::path& folder_or_json);
  [[nodiscard]] static Tokenizer parse(std::string_view json, const std::string& source);
  // The tokenizer file of llama2.c (tok512.bin): the pieces with their scores.
  [[nodiscard]] static Tokenizer open_llama2c(const std::filesystem::path& file,
                                              Index vocabulary);
  // The same from its bytes.
  [[nodiscard]] static Tokenizer parse_llama2c(std::span<const std::uint8_t> bytes,
                                               Index vocabulary, const std::string& source);

  [[nodiscard]] TokenizerKind kind() const;
  // Highest id + 1. A model's vocabulary may be larger (rows nobody uses), never smaller.
  [[nodiscard]] Index vocabulary() const;

  // The ids of a text. No token is added at its ends. Special tokens that are written in
  // the text ("<|endoftext|>", "[MASK]") are found. Throws Error(bad_value) for text that
  // is not UTF-8.
  [[nodiscard]] TokenIds encode(std::string_view text) const;
  // The text of some ids; ids outside the vocabulary throw Error(bad_value). skip_special
  // leaves out special tokens. WordPiece joins its pieces with spaces, as it always does:
  // the spaces of the text are lost.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids,
                                   bool skip_special = false) const;

  [[nodiscard]] std::optional<TokenId> id(std::string_view token) const;
  [[nodiscard]] const std::string& token(TokenId id) const;  // as the file writes it
  [[nodiscard]] bool special(TokenId id) const;
  // Special tokens by their usual names ("<s>", "<|endoftext|>", "[CLS]"); none: no such.
  [[nodiscard]] std::optional<TokenId> mask() const;       // [MASK], <mask>
  [[nodiscard]] std::optional<TokenId> beginning() const;  // <|endoftext|>, <s>, [CLS]
  [[nodiscard]] std::optional<TokenId> end() const;        // <|endoftext|>, </s>, [SEP]
  [[nodiscard]] std::optional<TokenId> unknown() const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerData> data) : data_(std::move(data)) {}
  std::shared_ptr<const TokenizerData> data_;
};

}  // namespace fmd
