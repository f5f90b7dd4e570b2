#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fmd {

// A sum of whole numbers in 128 bits. Figures are rounded to a fixed unit before they are
// added. Their sum is then exact, so the order of additions changes no bit.
struct ExactSum {
  std::uint64_t low = 0;
  std::int64_t high = 0;

  void add(std::uint64_t x) {
    low += x;
    high += low < x ? 1 : 0;
  }
  void add(const ExactSum& x) {
    low += x.low;
    high += x.high + (low < x.low ? 1 : 0);
  }
  // x >= 0 in units of 2^-unit, rounded to the nearest; x < 2^(126 - unit).
  void add(double x, int unit) {
    const auto bits = std::bit_cast<std::uint64_t>(x);  // frexp would cost more than all
    const auto exponent = static_cast<int>(bits >> 52);
    if (exponent == 0) return;  // 0, or below 2^-1022
    constexpr std::uint64_t kOne = std::uint64_t{1} << 52;
    const std::uint64_t digits = (bits & (kOne - 1)) | kOne;
    const int shift = exponent - 1075 + unit;
    if (shift >= 0) {
      const int up = shift < 64 ? shift : 63;
      ExactSum wide{digits << up,
                    up == 0 ? 0 : static_cast<std::int64_t>(digits >> (64 - up))};
      for (int k = up; k < shift; ++k) wide.add(ExactSum(wide));
      add(wide);
    } else if (shift > -55) {
      add((digits + (std::uint64_t{1} << (-shift - 1))) >> -shift);
    }
  }
  [[nodiscard]] double value(int unit) const {
    if (high < 0) return -ExactSum{~low + 1, ~high + (low == 0 ? 1 : 0)}.value(unit);
    return std::ldexp(static_cast<double>(high), 64 - unit) +
           std::ldexp(static_cast<double>(low), -unit);
  }
};

}  // namespace fmd
