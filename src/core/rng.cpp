#include "fmd/core/rng.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/binomial.h"
#include "core/check.h"
#include "core/mix.h"

namespace fmd {
namespace {

__extension__ typedef unsigned __int128 Wide;

Wide multiply(std::uint64_t a, std::uint64_t b) { return static_cast<Wide>(a) * b; }

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

std::vector<Index> permutation(Index n, Rng& rng) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  for (Index i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(rng.below(i + 1))]);
  return order;
}

}  // namespace fmd
