#include "fmd/core/rng.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace fmd {
namespace {

constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio

// SplitMix64's finaliser: a bijection of 64 bits whose outputs on a counter pass the usual tests.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed, std::string_view purpose, std::uint64_t number) {
  std::uint64_t key = mix(seed + kStep);
  for (const char c : purpose) key = mix(key ^ static_cast<unsigned char>(c));
  key_ = mix(mix(key + kStep) ^ mix(number + 2 * kStep));
}

std::uint64_t Rng::next() { return mix(key_ + kStep * ++counter_); }

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Index Rng::below(Index n) {
  // Lemire: the high half of a 64 x 64 product, rejecting the few values that would be unfair.
  const auto range = static_cast<std::uint64_t>(n);
  unsigned __int128 product = static_cast<unsigned __int128>(next()) * range;
  if (static_cast<std::uint64_t>(product) < range) {
    const std::uint64_t unfair = (0 - range) % range;
    while (static_cast<std::uint64_t>(product) < unfair)
      product = static_cast<unsigned __int128>(next()) * range;
  }
  return static_cast<Index>(product >> 64);
}

double Rng::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<Index> permutation(Index n, Rng& rng) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  for (Index i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(rng.below(i + 1))]);
  return order;
}

}  // namespace fmd
