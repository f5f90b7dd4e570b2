#include "metrics/statistics/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fmd::internal {
namespace {

// ln Gamma(n + 1) minus Stirling's n ln n - n + ln(2 pi n) / 2; n > 0.
double stirling_error(double n) {
  if (n >= 16) {
    const double s = 1 / (n * n);
    return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) /
           n;
  }
  // Gamma(n + 1) = Gamma(N + 1) / ((n + 1) ... N) with N >= 16.
  double product = 0, N = n;
  while (N < 16) product += std::log(N += 1);
  const auto stirling = [](double x) {
    return (x + 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi);
  };
  return stirling(N) + stirling_error(N) - product - stirling(n);
}

// x ln(x / m) + m - x without cancellation for x near m.
double deviance(double x, double m) {
  if (std::abs(x - m) >= 0.1 * (x + m)) return x * std::log(x / m) + m - x;
  // With v = (x - m) / (x + m): ln(x / m) = 2 (v + v^3/3 + v^5/5 + ...).
  const double v = (x - m) / (x + m);
  double sum = (x - m) * v, power = 2 * x * v;
  for (int j = 3; j < 1000; j += 2) {
    power *= v * v;
    const double next = sum + power / j;
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

// Continued fraction of the incomplete Beta function (Lentz's evaluation), for x below the
// mean of the distribution, where it converges in about sqrt(max(a, b)) steps.
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  const auto keep = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / keep(1 - (a + b) * x / (a + 1)), f = d;
  for (int m = 1; m < 1'000'000; ++m) {
    const double k = m;
    const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    d = 1 / keep(1 + even * d);
    c = keep(1 + even / c);
    f *= c * d;
    const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
    d = 1 / keep(1 + odd * d);
    c = keep(1 + odd / c);
    f *= c * d;
    if (std::abs(c * d - 1) <= 2 * std::numeric_limits<double>::epsilon()) break;
  }
  return f;
}

double hypergeometric_density(Index k, Index total, Index marked, Index drawn) {
  const auto real = [](Index n) { return static_cast<double>(n); };
  const double p = real(drawn) / real(total);
  return binomial_density(real(k), real(marked), p) *
         binomial_density(real(drawn - k), real(total - marked), p) /
         binomial_density(real(drawn), real(total), p);
}

}  // namespace

double binomial_density(double x, double n, double p) {
  if (p <= 0) return x == 0 ? 1 : 0;
  if (p >= 1) return x == n ? 1 : 0;
  if (n == 0) return 1;
  if (x == 0) return std::exp(n * std::log1p(-p));
  if (x == n) return std::exp(n * std::log(p));
  const double log_ratio = stirling_error(n) - stirling_error(x) - stirling_error(n - x) -
                           deviance(x, n * p) - deviance(n - x, n * (1 - p));
  return std::exp(log_ratio) * std::sqrt(n / (2 * std::numbers::pi * x * (n - x)));
}

double beta_probability(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // x^a (1 - x)^b / B(a, b) is this density times a b / (a + b).
  const double density = binomial_density(a, a + b, x);
  if (x < (a + 1) / (a + b + 2)) return density * b / (a + b) * beta_fraction(x, a, b);
  return 1 - density * a / (a + b) * beta_fraction(1 - x, b, a);
}

double beta_quantile(double probability, double a, double b) {
  // The distribution function rises, so halving finds it to the last bit.
  double low = 0, high = 1;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (beta_probability(middle, a, b) < probability ? low : high) = middle;
  }
}

Index hypergeometric(Index total, Index marked, Index drawn, Rng& rng) {
  const Index least = std::max<Index>(0, drawn + marked - total);
  const Index most = std::min(drawn, marked);
  if (least == most) return least;
  const auto real = [](Index n) { return static_cast<double>(n); };
  // P(k + 1) / P(k).
  const auto step = [&](Index k) {
    return real(marked - k) * real(drawn - k) /
           (real(k + 1) * real(total - marked - drawn + k + 1));
  };
  const auto mode =
      std::clamp(static_cast<Index>(real(drawn + 1) * real(marked + 1) / real(total + 2)),
                 least, most);
  const double peak = hypergeometric_density(mode, total, marked, drawn);
  for (;;) {
    double u = rng.uniform();
    if ((u -= peak) < 0) return mode;
    Index up = mode, down = mode;
    double p_up = peak, p_down = peak;
    while (up < most || down > least) {
      if (up < most) {
        p_up *= step(up++);
        if ((u -= p_up) < 0) return up;
      }
      if (down > least) {
        p_down /= step(--down);
        if ((u -= p_down) < 0) return down;
      }
    }
    // The probabilities add up to 1 except for rounding: draw again.
  }
}

}  // namespace fmd::internal
