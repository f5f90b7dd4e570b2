#include "metrics/statistics/distributions.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

double choose(Index n, Index k) {
  double value = 1;
  for (Index i = 1; i <= k; ++i)
    value *= static_cast<double>(n - k + i) / static_cast<double>(i);
  return value;
}

TEST(Hypergeometric, HasItsDistribution) {
  struct Case {
    Index total, marked, drawn;
  };
  for (const Case& c : {Case{10, 4, 5}, {10, 8, 7}, {30, 3, 29}, {200, 90, 60}}) {
    const int draws = 200000;
    std::map<Index, double> seen;
    Rng rng(3, "test");
    for (int i = 0; i < draws; ++i)
      seen[hypergeometric(c.total, c.marked, c.drawn, rng)] += 1.0 / draws;
    double sum = 0;
    for (Index k = 0; k <= c.drawn; ++k) {
      if (k > c.marked || c.drawn - k > c.total - c.marked) {
        EXPECT_EQ(seen.count(k), 0u);
        continue;
      }
      const double p = choose(c.marked, k) * choose(c.total - c.marked, c.drawn - k) /
                       choose(c.total, c.drawn);
      sum += p;
      EXPECT_NEAR(seen[k], p, 5 * std::sqrt(p / draws) + 5.0 / draws) << k;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

TEST(Hypergeometric, OfMillionsHasItsMeanAndSpread) {
  Rng rng(1, "test");
  const Index total = 20'000'000, marked = 7'000'000, drawn = 4'000'000;
  double sum = 0, squares = 0;
  const int draws = 2000;
  const double mean = 1.4e6, variance = 1.4e6 * 0.65 * (16.0 / 20);
  for (int i = 0; i < draws; ++i) {
    const double x = static_cast<double>(hypergeometric(total, marked, drawn, rng)) - mean;
    sum += x / draws;
    squares += x * x / draws;
  }
  EXPECT_NEAR(sum, 0, 5 * std::sqrt(variance / draws));
  EXPECT_NEAR(squares / variance, 1, 5 * std::sqrt(2.0 / draws));
}

}  // namespace
}  // namespace fmd
