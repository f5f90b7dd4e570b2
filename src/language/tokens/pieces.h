#pragma once

#include <string_view>
#include <vector>

#include "core/internal.h"

// How tokenizers cut a text into words before they look at their vocabulary.
namespace fmd::internal {

enum class WordRule {
  whole,   // no cut
  gpt2,    // GPT-2's expression
  llama3,  // Llama 3: contractions in any case, numbers of up to 3 digits
  qwen2,   // the same with numbers of one digit
  bert,    // blanks go, punctuation stands alone
};

struct CutRules {
  WordRule words = WordRule::whole;
  bool digits_alone = false;  // each digit is a piece, before the words are cut
  bool digit_runs = false;    // digits are apart from the rest, several together
};

// Pieces of valid UTF-8, in order. Blanks are lost with `bert` alone.
[[nodiscard]] std::vector<std::string_view> cut_words(std::string_view text,
                                                      const CutRules& rules);

}  // namespace fmd::internal
