#pragma once

#include "fmd/core/rng.h"
#include "repro/experiment.h"

namespace fmd::test {

// Digits of 4 x 4 pixels: label k is a pattern of its own under noise.
inline Digits made_up_digits(Index count, std::uint64_t seed) {
  Digits digits;
  digits.pixels = 16;
  Rng rng(seed, "made-up digits");
  for (Index i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(i % 10);
    for (int j = 0; j < 16; ++j) {
      const bool on = ((label * 7 + 3) * (j + 1) * 5 + j * j) % 11 < 5;
      const auto noise = static_cast<int>(rng.below(100));
      digits.grey.push_back(static_cast<std::uint8_t>(on ? 120 + noise : noise));
    }
    digits.label.push_back(label);
  }
  return digits;
}

inline repro::World made_up_world() {
  return {made_up_digits(1500, 1), made_up_digits(800, 2)};
}

}  // namespace fmd::test
