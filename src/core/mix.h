#pragma once

#include <cstdint>

#include "core/internal.h"

namespace fmd::internal {

inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio

// SplitMix64's finaliser: a bijection of 64 bits whose outputs on a counter pass the usual
// tests.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// hash64() of the eight bytes of a word, the lowest first.
constexpr std::uint64_t hash_word(std::uint64_t word, std::uint64_t seed) {
  const std::uint64_t state = mix64(seed + kGoldenStep) ^ 8;
  return mix64(mix64((state ^ word) + kGoldenStep) + kGoldenStep);
}

}  // namespace fmd::internal
