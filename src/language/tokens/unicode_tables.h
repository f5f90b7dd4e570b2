#pragma once

#include <span>

#include "core/internal.h"

namespace fmd::internal {

struct CodeRange {
  char32_t first, last;
};
struct CodeChange {
  char32_t code;
  const char* to;  // UTF-8
};

// Sorted by code. Letters, numbers and spaces are \p{L}, \p{N} and \s of regular
// expressions; the others belong to the BERT normaliser and pre-tokeniser, see
// tools/make_unicode.py.
[[nodiscard]] std::span<const CodeRange> letters_ranges();
[[nodiscard]] std::span<const CodeRange> numbers_ranges();
[[nodiscard]] std::span<const CodeRange> spaces_ranges();
[[nodiscard]] std::span<const CodeRange> digits_ranges();
[[nodiscard]] std::span<const CodeRange> punctuation_ranges();
[[nodiscard]] std::span<const CodeRange> blanks_ranges();
[[nodiscard]] std::span<const CodeRange> dropped_ranges();
[[nodiscard]] std::span<const CodeRange> blanked_ranges();
[[nodiscard]] std::span<const CodeRange> chinese_ranges();
// What accents are taken off (Hangul syllables are left to arithmetic), and lower case.
[[nodiscard]] std::span<const CodeChange> stripped_changes();
[[nodiscard]] std::span<const CodeChange> lowered_changes();

}  // namespace fmd::internal
