#pragma once

#include <string>
#include <string_view>

#include "core/internal.h"

// Characters of UTF-8 text and what tokenizers know about them.
namespace fmd::internal {

// The character at text[at], which must be a start of valid UTF-8; moves `at` behind it.
[[nodiscard]] char32_t next_character(std::string_view text, std::size_t& at);
void append_character(std::string& text, char32_t code);
// Throws Error(bad_value) that names `what` and the place of the first wrong byte.
void require_utf8(std::string_view text, const std::string& what);
[[nodiscard]] bool is_utf8(std::string_view text);

[[nodiscard]] bool is_letter(char32_t code);
[[nodiscard]] bool is_number(char32_t code);
[[nodiscard]] bool is_space(char32_t code);
[[nodiscard]] bool is_digit(char32_t code);
[[nodiscard]] bool is_bert_punctuation(char32_t code);
[[nodiscard]] bool is_bert_blank(char32_t code);

struct BertNormaliser {
  bool clean = true, chinese = true, strip_accents = true, lowercase = true;
};
// Text as BERT's normaliser gives it.
[[nodiscard]] std::string normalised(std::string_view text, const BertNormaliser& rules);

}  // namespace fmd::internal
