#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

[[nodiscard]] inline std::size_t to_size(Index i) { return static_cast<std::size_t>(i); }

enum class NumberText { number, other, out_of_range };

// parse_number() for long numbers and those with a point or an exponent.
[[nodiscard]] NumberText parse_long_number(std::string_view text, double& value);

// Parses a whole number of 1 to 8 digits, given as the eight bytes from its first digit on.
// False when one of its bytes is not a digit. There is no branch per digit.
[[nodiscard]] inline bool parse_digits(std::uint64_t bytes, std::size_t size,
                                       double& value) {
  static_assert(std::endian::native == std::endian::little);
  // Zeros are put before the digits, and the bytes after the digits drop out.
  constexpr std::uint64_t kZeros = 0x3030303030303030U;
  std::uint64_t w = bytes << (64 - 8 * size) | kZeros >> 1 >> (8 * size - 1);
  if (((w & 0xf0f0f0f0f0f0f0f0U) |
       ((w + 0x0606060606060606U) & 0xf0f0f0f0f0f0f0f0U) >> 4) != 0x3333333333333333U)
    return false;
  w -= kZeros;
  w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffU;
  w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffU;
  w = (w * 10000 + (w >> 32)) & 0x00000000ffffffffU;
  value = static_cast<double>(static_cast<std::uint32_t>(w));
  return true;
}

// Parses decimal notation as in "12", "+3.5", ".5" or "1e-3"; never hex, "inf" or "nan".
// out_of_range: the text has the form of a number, but no finite double has its value.
// Blanks around the number are not allowed.
[[nodiscard]] inline NumberText parse_number(std::string_view text, double& value) {
  // Most cells of most tables are short whole numbers.
  if (text.empty() || text.size() > 15) return parse_long_number(text, value);
  std::int64_t sum = 0;
  for (const char c : text) {
    const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
    if (digit > 9) return parse_long_number(text, value);
    sum = 10 * sum + digit;
  }
  value = static_cast<double>(sum);
  return NumberText::number;
}

// The shortest text that reads back as the same number.
[[nodiscard]] std::string number_text(double value);
[[nodiscard]] std::string float_text(float value);

// "1.0" and "01" as "1". A text that is not a number stays as it is. Makes texts of one
// value equal when one file's column was read as numbers and another's as categories.
[[nodiscard]] std::string canonical_text(std::string_view text);

}  // namespace fmd::internal
