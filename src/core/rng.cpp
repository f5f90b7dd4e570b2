#include "fmd/core/rng.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/check.h"
#include "core/mix.h"
#include "core/multinomial.h"

namespace fmd {
namespace {

__extension__ typedef unsigned __int128 Wide;

Wide multiply(std::uint64_t a, std::uint64_t b) { return static_cast<Wide>(a) * b; }

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
double stirling_correction(double k) {
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

 private:
  bool accepted(double k, double v, double edge) const {
    const double spread = std::sqrt(variance_);
    const double hat = (2.83 + 5.1 / b_) * spread / (a_ / (edge * edge) + b_);
    const double height = std::log(v * hat);
    const double mode = std::floor((n_ + 1) * p_);
    const double far = std::abs(k - mode);
    // Between bounds of the logarithm that Kachitvichyanukul and Schmeiser give, four more
    // logarithms decide nothing.
    if (far > 20 && far < variance_ / 2 - 1) {
      const double rho =
          far / variance_ * ((far * (far / 3 + 0.625) + 1.0 / 6) / variance_ + 0.5);
      const double middle = -far * far / (2 * variance_);
      if (height < middle - rho) return true;
      if (height > middle + rho) return false;
    }
    return height <= log_ratio_to_mode(k, mode);
  }

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
std::uint64_t key_of(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t key = mix64(seed + kGoldenStep);
  for (const char c : purpose) key = mix64(key ^ static_cast<unsigned char>(c));
  return mix64(key + kGoldenStep);
}

// The numbers of Rng, in the open so that loops can keep them in registers.
struct Stream {
  std::uint64_t key, counter = 0;

  double uniform() {
    return static_cast<double>(mix64(key + kGoldenStep * ++counter) >> 11) * 0x1p-53;
  }
};

}  // namespace

Rng::Rng(std::uint64_t seed, std::string_view purpose, std::uint64_t number)
    : key_(mix64(key_of(seed, purpose) ^ mix64(number + 2 * kGoldenStep))) {}

std::uint64_t Rng::next() { return mix64(key_ + kGoldenStep * ++counter_); }

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Index Rng::below(Index n) {
  // Lemire: the high half of a 64 x 64 product, rejecting the few values that would be
  // unfair.
  assert(n > 0);
  const auto range = static_cast<std::uint64_t>(n);
  Wide product = multiply(next(), range);
  if (static_cast<std::uint64_t>(product) < range) {
    const std::uint64_t unfair = (0 - range) % range;
    while (static_cast<std::uint64_t>(product) < unfair) product = multiply(next(), range);
  }
  return static_cast<Index>(product >> 64);
}

double Rng::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

Index Rng::binomial(Index n, double p) {
  require_option(n >= 0, "binomial", "n", n, ">= 0");
  require_option(p >= 0 && p <= 1, "binomial", "p", p, "in [0, 1]");
  return draw_binomial(n, p, *this);
}

void Rng::multinomial(Index total, const std::vector<double>& probability,
                      std::vector<Index>& counts) {
  require_option(total >= 0, "multinomial", "total", total, ">= 0");
  const Multinomial multinomial(probability);
  counts.assign(probability.size(), 0);
  multinomial.draw(total, *this, counts);
}

Multinomial::Multinomial(const std::vector<double>& probability) {
  // Sums from the back: what is left after a cell keeps its relative precision.
  double rest = 0;
  for (std::size_t i = probability.size(); i-- > 0;) {
    require_option(probability[i] >= 0 && std::isfinite(probability[i]), "multinomial",
                   "probability", probability[i], ">= 0 and finite");
    rest += probability[i];
    if (probability[i] > 0)
      cells_.push_back({i, cells_.empty() ? 1 : std::min(1.0, probability[i] / rest)});
  }
  std::reverse(cells_.begin(), cells_.end());
}

void Multinomial::draw(Index total, Rng& rng, std::span<Index> counts) const {
  require_option(total == 0 || !cells_.empty(), "multinomial", "probability", "all zero",
                 "positive somewhere");
  std::fill(counts.begin(), counts.end(), Index{0});
  for (std::size_t k = 0; k < cells_.size() && total > 0; ++k) {
    const bool last = k + 1 == cells_.size();
    const Index hits = last ? total : draw_binomial(total, cells_[k].p, rng);
    counts[cells_[k].at] = hits;
    total -= hits;
  }
}

void draw_tables(Index total, const std::vector<double>& probability, std::uint64_t seed,
                 std::string_view purpose, Index first, Index tables, Index* counts) {
  // As Multinomial, but cell by cell for all tables: their draws do not wait for each
  // other.
  const std::size_t cells = probability.size();
  const auto count = static_cast<std::size_t>(tables);
  const std::uint64_t key = key_of(seed, purpose);
  std::vector<Stream> stream(count);
  std::vector<Index> left(count, total);
  for (std::size_t t = 0; t < count; ++t)
    stream[t] = {
        mix64(key ^ mix64(static_cast<std::uint64_t>(first) + t + 2 * kGoldenStep))};
  std::vector<double> rest(cells + 1, 0.0);
  for (std::size_t c = cells; c-- > 0;) rest[c] = rest[c + 1] + probability[c];
  for (std::size_t c = 0; c < cells; ++c) {
    if (probability[c] <= 0) continue;
    if (rest[c + 1] <= 0) {
      for (std::size_t t = 0; t < count; ++t) counts[t * cells + c] = left[t];
      break;
    }
    const double p = std::min(1.0, probability[c] / rest[c]);
    for (std::size_t t = 0; t < count; ++t) {
      const Index hits = draw_binomial(left[t], p, stream[t]);
      counts[t * cells + c] = hits;
      left[t] -= hits;
    }
  }
}

std::vector<Index> permutation(Index n, Rng& rng) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  for (Index i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(rng.below(i + 1))]);
  return order;
}

}  // namespace fmd
