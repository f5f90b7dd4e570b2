#include "fmd/core/safe_text.h"

#include <cstdint>

#include <fmt/format.h>

namespace fmd {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // false: `code` is one byte that is not UTF-8
};

// The character that begins at text[0], which exists. Overlong forms, surrogates and codes
// above U+10FFFF are not UTF-8.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character broken{lead, 1, false};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return broken;
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return broken;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return broken;
  return {code, length, true};
}

// Characters that a person cannot see, or that change what others look like.
bool is_hidden(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0xAD || code == 0x61C ||
         code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

std::string escaped(std::uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

template <typename Escapes>
std::string escape_where(std::string_view text, const Escapes& escapes) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!c.valid || escapes(c.code)) {
      out += c.valid ? escaped(c.code) : fmt::format("\\x{:02x}", c.code);
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string safe_text(std::string_view text) { return escape_where(text, is_hidden); }

std::string safe_lines(std::string_view text) {
  return escape_where(text,
                      [](std::uint32_t code) { return code != '\n' && is_hidden(code); });
}

std::string valid_utf8(std::string_view text) {
  return escape_where(text, [](std::uint32_t) { return false; });
}

}  // namespace fmd
