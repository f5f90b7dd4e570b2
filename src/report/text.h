#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/internal.h"
#include "fmd/data/task.h"
#include "fmd/metrics/interval.h"

// How figures look on a screen.
namespace fmd::internal::text {

inline std::string count(Index n) {  // 10,000
  std::string digits = std::to_string(n < 0 ? -n : n);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return n < 0 ? "-" + digits : digits;
}

inline std::string fixed(double x, int digits) {  // 0.110; a -0.000 loses its sign
  if (std::isnan(x)) return "-";
  std::string out = fmt::format("{:.{}f}", x, digits);
  if (out.find_first_not_of("-0.") == std::string::npos && out[0] == '-') out.erase(0, 1);
  return out;
}

// Small flip gaps would all be 0.000: they are written like 3e-05.
inline std::string gap(double x) {
  if (std::isnan(x)) return "-";
  if (x == 0) return "0";
  if (std::abs(x) < 0.0005) return fmt::format("{:.0e}", x);
  return fixed(x, 3);
}

inline std::string bare(double x, int digits = 3) {  // .110
  std::string out = fixed(x, digits);
  const std::size_t zero = out.find("0.");
  if (zero == 0 || (zero == 1 && out[0] == '-')) out.erase(zero, 1);
  return out;
}

inline std::string percent(double x) { return std::isnan(x) ? "-" : fixed(100 * x, 1); }

// [.108, .111]
inline std::string range(const Interval& i, int digits = 3) {
  if (std::isnan(i.low) || std::isnan(i.high)) return "[-]";
  return fmt::format("[{}, {}]", bare(i.low, digits), bare(i.high, digits));
}
// "True positive" misleads where the favourable answer is not the positive one.
inline constexpr const char* kRateWords =
    "TPR: favourable rate among favourable labels; FPR: among the others";
[[nodiscard]] inline bool rates_mislead(const Task& task) {
  return task.favorable_class() >= 0 && task.favorable_class() != 1;
}

// [41.8, 44.4]
inline std::string percent_range(const Interval& i) {
  if (std::isnan(i.low) || std::isnan(i.high)) return "[-]";
  return fmt::format("[{}, {}]", percent(i.low), percent(i.high));
}

// How many rows equal a training row, and the expected number if none was used.
inline std::string seen(Index rows, double by_chance) {
  if (by_chance < 0.5) return fmt::format("{} of them seen in training", count(rows));
  return fmt::format("{} equal a training row ({} by chance)", count(rows),
                     count(static_cast<Index>(std::lround(by_chance))));
}

// "yes" where the positive label is the favourable one. Otherwise "yes" would mislead.
inline std::string favourable_word(const Task& task) {
  return task.binary() && task.favorable_class() == 0 ? "fav" : "yes";
}

// At most `width` characters of UTF-8 text; ".." marks a cut.
inline std::string clip(std::string_view s, std::size_t width) {
  std::size_t shown = 0, at = 0, keep = 0;
  while (at < s.size()) {
    std::size_t next = at + 1;
    while (next < s.size() && (static_cast<unsigned char>(s[next]) & 0xC0) == 0x80) ++next;
    if (++shown <= width - 2) keep = next;
    at = next;
  }
  return shown <= width ? std::string(s) : std::string(s.substr(0, keep)) + "..";
}

// Breaks words at 80 columns; following lines begin with `indent` blanks.
inline std::string wrap(std::string_view words, std::size_t first, std::size_t indent) {
  std::string out;
  std::size_t column = first;
  std::size_t at = 0;
  while (at < words.size()) {
    std::size_t end = words.find(' ', at);
    if (end == std::string_view::npos) end = words.size();
    const std::string_view word = words.substr(at, end - at);
    if (column > indent && column + 1 + word.size() > 79) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out;
}

}  // namespace fmd::internal::text
