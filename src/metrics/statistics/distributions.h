#pragma once

#include "core/internal.h"
#include "fmd/core/rng.h"
#include "fmd/core/types.h"

// The binomial, the Beta and the hypergeometric distribution.
namespace fmd::internal {

// Gamma(n + 1) / (Gamma(x + 1) Gamma(n - x + 1)) p^x (1 - p)^(n - x) for real 0 <= x <= n,
// to about 14 digits also for n of many millions, where logarithms of Gamma would cancel.
[[nodiscard]] double binomial_density(double x, double n, double p);

// P(X <= x) of Beta(a, b), and its inverse.
[[nodiscard]] double beta_probability(double x, double a, double b);
[[nodiscard]] double beta_quantile(double probability, double a, double b);

// Of `total` rows `marked` are marked, and `drawn` rows are taken without replacement: how
// many of them are marked. Exact, by inversion from the mode outwards. Cost: in proportion
// to the standard deviation.
[[nodiscard]] Index hypergeometric(Index total, Index marked, Index drawn, Rng& rng);

}  // namespace fmd::internal
