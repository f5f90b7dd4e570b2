#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "core/mix.h"
#include "fmd/core/types.h"

// Binomial numbers from any source of uniform numbers: Rng, or the streams of many
// replicates.
namespace fmd::internal {

// Mean below 10: walks up the distribution from 0, some ten steps.
template <typename Random>
Index binomial_by_inversion(Index n, double p, Random& rng) {
  const double odds = p / (1 - p);
  double u = rng.uniform();
  double probability = std::exp(static_cast<double>(n) * std::log1p(-p));
  Index k = 0;
  while (u >= probability && k < n) {
    u -= probability;
    ++k;
    probability *= odds * static_cast<double>(n - k + 1) / static_cast<double>(k);
    // Past the mode and below the resolution of u: rounding has used up the distribution.
    if (probability < 0x1p-60 && static_cast<double>(k) > static_cast<double>(n) * p) break;
  }
  return k;
}

// log k! minus Stirling's approximation (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2.
inline double stirling_correction(double k) {
  static constexpr std::array<double, 10> kSmall = {
      0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391,
      0.0207906721037650931, 0.0166446911898211922, 0.0138761288230707480,
      0.0118967099458917701, 0.0104112652619720965, 0.0092554621827127329,
      0.0083305634333628713};
  if (k < 10) return kSmall[static_cast<std::size_t>(k)];
  const double x = 1 / (k + 1);
  return (1. / 12 - (1. / 360 - (1. / 1260 - 1. / 1680 * x * x) * x * x) * x * x) * x;
}

// Hörmann's transformed rejection with squeeze, for a mean of 10 or more and p <= 1/2.
// About 1.2 pairs of uniforms a draw; most are accepted with one square root and one
// division.
class BinomialByRejection {
 public:
  BinomialByRejection(Index count, double p)
      : n_(static_cast<double>(count)),
        p_(p),
        variance_(n_ * p * (1 - p)),
        b_(1.15 + 2.53 * std::sqrt(variance_)),
        a_(-0.0873 + 0.0248 * b_ + 0.01 * p) {}

  template <typename Random>
  Index draw(Random& rng) const {
    for (;;) {
      const double v = rng.uniform();
      const double u = rng.uniform() - 0.5;
      const double edge = 0.5 - std::abs(u);
      const double x = (2 * a_ / edge + b_) * u + n_ * p_ + 0.5;
      if (!(x >= 0 && x < n_ + 1)) continue;
      const auto k = static_cast<Index>(x);
      if (edge >= 0.07 && (0.92 - v) * b_ >= 4.2) return k;  // v <= .92 - 4.2 / b
      if (accepted(static_cast<double>(k), v, edge)) return k;
    }
  }

  // Whether k, which came from v and the edge of u, is kept.
  bool accepted(double k, double v, double edge) const {
    const double spread = std::sqrt(variance_);
    const double hat = (2.83 + 5.1 / b_) * spread / (a_ / (edge * edge) + b_);
    const double height = std::log(v * hat);
    const double mode = std::floor((n_ + 1) * p_);
    const double far = std::abs(k - mode);
    // Beyond the bounds of the logarithm that Kachitvichyanukul and Schmeiser give (a
    // little widened for rounding), four more logarithms decide nothing.
    if (far < variance_ / 2 - 1) {
      const double rho =
          1.001 * far / variance_ * ((far * (far / 3 + 0.625) + 1.0 / 6) / variance_ + 0.5);
      const double middle = -far * far / (2 * variance_);
      if (height < middle - rho) return true;
      if (height > middle + rho) return false;
    }
    return height <= log_ratio_to_mode(k, mode);
  }

 private:
  // log of P(k) / P(mode), written so that large n cancels inside the logarithms.
  double log_ratio_to_mode(double k, double m) const {
    const double odds = p_ / (1 - p_);
    return (m + 0.5) * std::log((m + 1) / (odds * (n_ - m + 1))) +
           (n_ + 1) * std::log((n_ - m + 1) / (n_ - k + 1)) +
           (k + 0.5) * std::log(odds * (n_ - k + 1) / (k + 1)) + stirling_correction(m) +
           stirling_correction(n_ - m) - stirling_correction(k) -
           stirling_correction(n_ - k);
  }

  double n_, p_, variance_, b_, a_;
};

template <typename Random>
inline Index draw_binomial(Index n, double p, Random& rng) {
  if (n == 0 || p == 0) return 0;
  const bool turned = p > 0.5;
  const double q = turned ? 1 - p : p;
  const Index k = static_cast<double>(n) * q < 10 ? binomial_by_inversion(n, q, rng)
                                                  : BinomialByRejection(n, q).draw(rng);
  return turned ? n - k : k;
}

// What the streams of one purpose share.
inline std::uint64_t key_of(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t key = mix64(seed + kGoldenStep);
  for (const char c : purpose) key = mix64(key ^ static_cast<unsigned char>(c));
  return mix64(key + kGoldenStep);
}

// The numbers of Rng, with open fields so that loops can keep them in registers.
struct Stream {
  std::uint64_t key, counter = 0;

  double uniform() {
    return static_cast<double>(mix64(key + kGoldenStep * ++counter) >> 11) * 0x1p-53;
  }
};

}  // namespace fmd::internal
