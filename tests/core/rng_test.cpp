#include "fmd/core/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

// Sum of (seen - expected)^2 / expected, cells of fewer than five expected draws put
// together.
struct ChiSquare {
  double value = 0;
  int cells = 0;

  // Far outside of what chance gives: more than six standard deviations.
  [[nodiscard]] bool is_plausible() const {
    return value < cells + 6 * std::sqrt(2.0 * cells) + 6;
  }
};

ChiSquare chi_square(const std::vector<Index>& seen, const std::vector<double>& expected) {
  ChiSquare result;
  double rest_seen = 0, rest_expected = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    rest_seen += static_cast<double>(seen[i]);
    rest_expected += expected[i];
    if (rest_expected < 5) continue;
    result.value +=
        (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    result.cells += 1;
    rest_seen = rest_expected = 0;
  }
  return result;
}

ChiSquare binomial_fit(Index n, double p, int draws) {
  Rng rng(5, "fit", static_cast<std::uint64_t>(n));
  std::vector<Index> seen(static_cast<std::size_t>(n) + 1);
  for (int i = 0; i < draws; ++i) ++seen.at(static_cast<std::size_t>(rng.binomial(n, p)));
  std::vector<double> expected;
  for (Index k = 0; k <= n; ++k) {
    const auto x = static_cast<double>(k), m = static_cast<double>(n);
    const double log_probability = std::lgamma(m + 1) - std::lgamma(x + 1) -
                                   std::lgamma(m - x + 1) + x * std::log(p) +
                                   (m - x) * std::log1p(-p);
    expected.push_back(draws * std::exp(log_probability));
  }
  return chi_square(seen, expected);
}

}  // namespace

// A stored seed must give the same split and the same intervals in every release.
TEST(Rng, TheNumbersOfAStreamNeverChange) {
  Rng plain(1);
  EXPECT_EQ(plain.next(), 8839571875192729792u);
  Rng named(1, "split", 3);
  EXPECT_EQ(named.next(), 2312199744997452194u);
  EXPECT_EQ(named.below(1000), 330);
  EXPECT_EQ(named.uniform(), 0.4197009731134419);
  EXPECT_CLOSE(named.normal(), 0.98395631874110223, 1e-14);
  EXPECT_EQ(named.binomial(20, 0.3), 5);
  EXPECT_EQ(named.binomial(1000, 0.3), 287);
  EXPECT_EQ(permutation(5, named), (std::vector<Index>{1, 3, 2, 4, 0}));
}

TEST(Rng, SeedPurposeAndNumberEachGiveAnotherStream) {
  const std::uint64_t base = Rng(1, "split", 0).next();
  EXPECT_NE(Rng(2, "split", 0).next(), base);
  EXPECT_NE(Rng(1, "splits", 0).next(), base);
  EXPECT_NE(Rng(1, "split", 1).next(), base);
  EXPECT_EQ(Rng(1, "split", 0).next(), base);
}

TEST(Rng, UniformIsUniformInEveryBit) {
  Rng rng(11);
  constexpr int kDraws = 1 << 17;
  std::vector<Index> seen(64), ones(64);
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    ++seen[static_cast<std::size_t>(u * 64)];
    const std::uint64_t bits = rng.next();
    for (std::size_t b = 0; b < 64; ++b) ones[b] += static_cast<Index>(bits >> b & 1);
  }
  EXPECT_TRUE(chi_square(seen, std::vector<double>(64, kDraws / 64.0)).is_plausible());
  for (const Index count : ones)
    EXPECT_LT(std::abs(static_cast<double>(count) - kDraws / 2.0),
              5 * std::sqrt(kDraws) / 2);
}

TEST(Rng, BelowIsFairForARangeThatIsNoPowerOfTwo) {
  Rng rng(12);
  std::vector<Index> seen(7);
  for (int i = 0; i < 70000; ++i) ++seen.at(static_cast<std::size_t>(rng.below(7)));
  EXPECT_TRUE(chi_square(seen, std::vector<double>(7, 10000)).is_plausible());
  EXPECT_EQ(rng.below(1), 0);
}

TEST(Rng, NormalHasTheMomentsOfANormal) {
  Rng rng(13);
  constexpr int kDraws = 200000;
  double sum = 0, square = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(square / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth / kDraws, 3, 5 * std::sqrt(96.0 / kDraws));
}

TEST(Binomial, FollowsTheExactDistributionOnBothSidesOfTheBorder) {
  EXPECT_TRUE(binomial_fit(1, 0.3, 100000).is_plausible());   // inversion
  EXPECT_TRUE(binomial_fit(12, 0.7, 100000).is_plausible());  // inversion, mirrored
  EXPECT_TRUE(binomial_fit(2000, 0.004, 100000).is_plausible());
  EXPECT_TRUE(binomial_fit(21, 0.5, 100000).is_plausible());  // rejection, just above
  EXPECT_TRUE(binomial_fit(40, 0.26, 100000).is_plausible());
  EXPECT_TRUE(binomial_fit(40, 0.74, 100000).is_plausible());
  EXPECT_TRUE(binomial_fit(1000, 0.3, 200000).is_plausible());
}

TEST(Binomial, HasTheRightMeanAndVarianceForLargeN) {
  for (const double p : {1e-8, 1e-3, 0.5, 0.99}) {
    constexpr Index kN = 1'000'000'000;
    constexpr int kDraws = 40000;
    Rng rng(14);
    const double mean = kN * p, variance = kN * p * (1 - p);
    double sum = 0, square = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = static_cast<double>(rng.binomial(kN, p)) - mean;
      sum += x;
      square += x * x;
    }
    EXPECT_NEAR(sum / kDraws, 0, 5 * std::sqrt(variance / kDraws)) << p;
    EXPECT_NEAR(square / kDraws / variance, 1, 6 * std::sqrt(2.1 / kDraws)) << p;
  }
}

TEST(Binomial, IsCertainWhereItMustBe) {
  Rng rng(15);
  EXPECT_EQ(rng.binomial(0, 0.5), 0);
  EXPECT_EQ(rng.binomial(100, 0), 0);
  EXPECT_EQ(rng.binomial(100, 1), 100);
  EXPECT_ERROR(rng.binomial(-1, 0.5), ErrorKind::bad_option, "option n is -1");
  EXPECT_ERROR(rng.binomial(1, 1.5), ErrorKind::bad_option, "option p is 1.5");
  EXPECT_ERROR(rng.binomial(1, std::nan("")), ErrorKind::bad_option, "option p is nan");
}

RC_GTEST_PROP(Multinomial, CountsAddUpAndEmptyCellsStayEmpty, ()) {
  const auto weights = *rc::gen::nonEmpty<std::vector<std::uint8_t>>();
  const auto total = *rc::gen::inRange<Index>(0, 100000);
  std::vector<double> probability(weights.begin(), weights.end());
  const double sum = std::accumulate(probability.begin(), probability.end(), 0.0);
  RC_PRE(sum > 0);
  for (double& p : probability) p /= sum;
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<Index> counts;
  rng.multinomial(total, probability, counts);
  RC_ASSERT(counts.size() == probability.size());
  RC_ASSERT(std::accumulate(counts.begin(), counts.end(), Index{0}) == total);
  for (std::size_t i = 0; i < counts.size(); ++i)
    RC_ASSERT(counts[i] >= 0 && (probability[i] > 0 || counts[i] == 0));
}

TEST(Multinomial, EachCellHasItsShare) {
  const std::vector<double> probability = {0.1, 0, 0.25, 0.6, 0.05};
  Rng rng(16);
  std::vector<Index> sum(5), counts;
  constexpr Index kDraws = 2000, kTotal = 50;
  for (Index i = 0; i < kDraws; ++i) {
    rng.multinomial(kTotal, probability, counts);
    for (std::size_t k = 0; k < 5; ++k) sum[k] += counts[k];
  }
  std::vector<double> expected;
  for (const double p : probability) expected.push_back(p * kDraws * kTotal);
  EXPECT_TRUE(chi_square(sum, expected).is_plausible());
}

TEST(Multinomial, RefusesProbabilitiesThatAreNone) {
  Rng rng(17);
  std::vector<Index> counts;
  EXPECT_ERROR(rng.multinomial(3, {0.5, -0.5}, counts), ErrorKind::bad_option, "-0.5");
  EXPECT_ERROR(rng.multinomial(3, {0.0, 0.0}, counts), ErrorKind::bad_option, "all zero");
  EXPECT_ERROR(rng.multinomial(-3, {1.0}, counts), ErrorKind::bad_option, "total is -3");
}

TEST(Permutation, HoldsEveryNumberOnceAndAllOrdersAreEquallyLikely) {
  Rng rng(18);
  std::vector<Index> seen(24);
  for (int i = 0; i < 24000; ++i) {
    const auto order = permutation(4, rng);
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, (std::vector<Index>{0, 1, 2, 3}));
    std::vector<Index> first = {0, 1, 2, 3};
    std::size_t rank = 0;
    while (first != order) std::next_permutation(first.begin(), first.end()), ++rank;
    ++seen.at(rank);
  }
  EXPECT_TRUE(chi_square(seen, std::vector<double>(24, 1000)).is_plausible());
  EXPECT_TRUE(permutation(0, rng).empty());
}

}  // namespace fmd
