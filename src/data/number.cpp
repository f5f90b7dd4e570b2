#include "data/number.h"

#include <array>
#include <cmath>

namespace fmd {

NumberText parse_long_number(std::string_view text, double& value) {
  const bool plus = !text.empty() && text.front() == '+';
  const char* first = text.data() + (plus ? 1 : 0);
  const char* last = text.data() + text.size();
  const char* start = first != last && *first == '-' && !plus ? first + 1 : first;
  // from_chars would take "inf" and "nan" too.
  if (start == last || !((*start >= '0' && *start <= '9') || *start == '.')) {
    return NumberText::other;
  }
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

std::string canonical_text(std::string_view text) {
  double value = 0;
  if (parse_number(text, value) != NumberText::number) return std::string(text);
  return number_text(value == 0 ? 0.0 : value);
}

}  // namespace fmd
