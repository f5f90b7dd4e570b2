#include "data/number.h"

#include <array>
#include <charconv>
#include <cmath>

namespace fmd::internal {
namespace {

// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// "12.375" as 12375 / 10^3: both are exact, so the quotient is the nearest double. False
// when they are not exact or the text has another form; it may still be a number.
bool parse_decimal(const char* p, const char* last, double& value) {
  const bool negative = *p == '-';
  if (negative) ++p;
  if (last - p > 17) return false;
  std::uint64_t digits = 0;
  const char* point = nullptr;
  const char* first = p;
  for (; p != last; ++p) {
    const unsigned digit = static_cast<unsigned char>(*p) - unsigned{'0'};
    if (digit <= 9) {
      digits = 10 * digits + digit;
    } else if (*p == '.' && point == nullptr) {
      point = p;
    } else {
      return false;
    }
  }
  if (digits >= std::uint64_t{1} << 53 || (point != nullptr && last - first == 1))
    return false;
  const auto places = point == nullptr ? 0 : static_cast<std::size_t>(last - point - 1);
  const double whole = static_cast<double>(digits) / kPowers[places];
  value = negative ? -whole : whole;
  return true;
}

}  // namespace

NumberText parse_long_number(std::string_view text, double& value) {
  const bool plus = !text.empty() && text.front() == '+';
  const char* first = text.data() + (plus ? 1 : 0);
  const char* last = text.data() + text.size();
  const char* start = first != last && *first == '-' && !plus ? first + 1 : first;
  // from_chars would take "inf" and "nan" too.
  if (start == last || !((*start >= '0' && *start <= '9') || *start == '.')) {
    return NumberText::other;
  }
  if (parse_decimal(first, last, value)) return NumberText::number;
  double parsed = 0;
  const auto [end, error] = std::from_chars(first, last, parsed);
  if (error == std::errc::invalid_argument || end != last) return NumberText::other;
  if (error == std::errc::result_out_of_range || !std::isfinite(parsed)) {
    return NumberText::out_of_range;
  }
  value = parsed;
  return NumberText::number;
}

std::string number_text(double value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string float_text(float value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string canonical_text(std::string_view text) {
  double value = 0;
  if (parse_number(text, value) != NumberText::number) return std::string(text);
  return number_text(value == 0 ? 0.0 : value);
}

}  // namespace fmd::internal
