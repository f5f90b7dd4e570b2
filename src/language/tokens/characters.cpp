#include "language/tokens/characters.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "language/tokens/unicode_tables.h"

namespace fmd::internal {
namespace {

bool in_ranges(std::span<const CodeRange> ranges, char32_t code) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), code,
      [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

// Bytes of the character that begins here; 0 = they are not UTF-8.
std::size_t character_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : size;
}

std::size_t first_wrong_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = character_size(text, at);
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

constexpr char32_t kHangul = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11A7;

// A Hangul syllable as its letters.
void append_hangul(std::string& text, char32_t code) {
  const char32_t at = code - kHangul;
  append_character(text, kLead + at / 588);
  append_character(text, kVowel + at % 588 / 28);
  if (at % 28 != 0) append_character(text, kTrail + at % 28);
}

std::string changed(std::string_view text, std::span<const CodeChange> changes,
                    bool hangul) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t code = next_character(text, at);
    const auto found = std::lower_bound(
        changes.begin(), changes.end(), code,
        [](const CodeChange& change, char32_t value) { return change.code < value; });
    if (hangul && code >= kHangul && code < kHangul + 11172) {
      append_hangul(result, code);
    } else if (found != changes.end() && found->code == code) {
      result += found->to;
    } else {
      result += text.substr(begin, at - begin);
    }
  }
  return result;
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  const char32_t first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  char32_t code = first & (size == 2 ? 0x1Fu : size == 3 ? 0x0Fu : 0x07u);
  for (std::size_t i = 1; i < size; ++i) code = (code << 6) | (byte(at + i) & 0x3Fu);
  at += size;
  return code;
}

void append_character(std::string& text, char32_t code) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80u | ((code >> shift) & 0x3Fu));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0u | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0u | (code >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0u | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_utf8(std::string_view text) {
  return first_wrong_byte(text) == std::string_view::npos;
}

void require_utf8(std::string_view text, const std::string& what) {
  const std::size_t at = first_wrong_byte(text);
  if (at == std::string_view::npos) return;
  throw Error(ErrorKind::bad_value,
              fmt::format("{}: byte {} (0x{:02x}) is not UTF-8", what, at + 1,
                          static_cast<unsigned>(static_cast<unsigned char>(text[at]))),
              "save the file as UTF-8");
}

bool is_letter(char32_t code) {
  if (code < 0x80) return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
  return in_ranges(letters_ranges(), code);
}

bool is_number(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  return in_ranges(numbers_ranges(), code);
}

bool is_space(char32_t code) { return in_ranges(spaces_ranges(), code); }
bool is_digit(char32_t code) { return in_ranges(digits_ranges(), code); }
bool is_bert_punctuation(char32_t code) { return in_ranges(punctuation_ranges(), code); }
bool is_bert_blank(char32_t code) { return in_ranges(blanks_ranges(), code); }

std::string normalised(std::string_view text, const BertNormaliser& rules) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t code = next_character(text, at);
    if (rules.clean && in_ranges(dropped_ranges(), code)) continue;
    if (rules.clean && in_ranges(blanked_ranges(), code)) {
      result += ' ';
    } else if (rules.chinese && in_ranges(chinese_ranges(), code)) {
      result += ' ';
      result += text.substr(begin, at - begin);
      result += ' ';
    } else {
      result += text.substr(begin, at - begin);
    }
  }
  if (rules.strip_accents) result = changed(result, stripped_changes(), true);
  if (rules.lowercase) result = changed(result, lowered_changes(), false);
  return result;
}

}  // namespace fmd::internal
