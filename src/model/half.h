#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/internal.h"

namespace fmd::internal {

// float16 of IEEE 754, as its bits. Here whole, since plug-ins use it too.

// Rounds to the nearest, ties to even; what is too large becomes infinite.
[[nodiscard]] inline std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const float size = std::fabs(value);
  std::uint32_t rest = 0;
  if (std::isnan(value)) {
    rest = 0x7e00;
  } else if (size >= 65520.0F) {  // rounds beyond the largest, 65504
    rest = 0x7c00;
  } else if (size > 0) {
    // Below 2^-14 numbers are multiples of 2^-24; above, of 2^-10 of their power of 2.
    int exponent = 0;
    std::frexp(size, &exponent);  // size < 2^exponent
    const bool small = exponent < -13;
    const float count = std::nearbyint(std::ldexp(size, small ? 24 : 11 - exponent));
    // A count of 2048 is the next power of 2: the sum carries into the exponent.
    const int base = small ? 0 : exponent + 13;
    rest = static_cast<std::uint32_t>(base) * 1024 + static_cast<std::uint32_t>(count);
  }
  return static_cast<std::uint16_t>(sign | rest);
}

[[nodiscard]] inline float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  float size = 0;
  if (exponent == 0x1f) {
    size = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    size = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace fmd::internal
