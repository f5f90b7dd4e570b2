#include "fmd/metrics/interval.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "metrics/statistics/distributions.h"
#include "support/close.h"

namespace fmd {
namespace {

constexpr double kNaN = kUndefined;

// Ends as printed, to the digits that are printed.
void expect_ends(const Interval& interval, double low, double high, double digits) {
  EXPECT_NEAR(interval.low, low, digits);
  EXPECT_NEAR(interval.high, high, digits);
}

TEST(NormalQuantile, TableValues) {
  EXPECT_NEAR(normal_quantile(0.95), 1.959963984540054, 1e-14);
  EXPECT_NEAR(normal_quantile(0.99), 2.5758293035489004, 1e-14);
  EXPECT_NEAR(normal_quantile(0.5), 0.6744897501960817, 1e-14);
}

TEST(AdjustedConfidence, SharesTheErrorAmongTheComparisons) {
  EXPECT_CLOSE(adjusted_confidence(0.95, 1), 0.95, 1e-15);
  EXPECT_CLOSE(adjusted_confidence(0.95, 5), 0.99, 1e-15);
  EXPECT_CLOSE(adjusted_confidence(0.95, 0), 0.95, 1e-15);
}

// The four examples of Newcombe (1998), "Two-sided confidence intervals for the single
// proportion", method 3.
TEST(Wilson, PublishedExamples) {
  expect_ends(wilson(81, 263, 0.95), 0.2553, 0.3662, 5e-5);
  expect_ends(wilson(15, 148, 0.95), 0.0624, 0.1605, 5e-5);
  expect_ends(wilson(0, 20, 0.95), 0, 0.1611, 5e-5);
  expect_ends(wilson(1, 29, 0.95), 0.0061, 0.1718, 5e-5);
}

TEST(Wilson, EndsAreExactAndNothingOfNothingIsUndefined) {
  EXPECT_EQ(wilson(0, 7, 0.9).low, 0);
  EXPECT_EQ(wilson(7, 7, 0.9).high, 1);
  const Interval none = wilson(0, 0, 0.95);
  EXPECT_FALSE(none.defined());
  EXPECT_TRUE(std::isnan(none.low) && std::isnan(none.high));
}

TEST(Wilson, WrongUseIsNamed) {
  EXPECT_ERROR(wilson(8, 7, 0.95), ErrorKind::bad_option, "8 of 7 is not a share");
  EXPECT_ERROR(wilson(-1, 7, 0.95), ErrorKind::bad_option, "-1 of 7");
  EXPECT_ERROR(wilson(1, 7, 1), ErrorKind::bad_option, "option confidence is 1");
}

// The first examples of Newcombe (1998), "Interval estimation for the difference between
// independent proportions", method 10.
TEST(Newcombe, PublishedExamples) {
  expect_ends(newcombe(56, 70, 48, 80, 0.95), 0.0524, 0.3339, 5e-5);
  expect_ends(newcombe(9, 10, 3, 10, 0.95), 0.1705, 0.8090, 5e-5);
  expect_ends(newcombe(10, 10, 0, 10, 0.95), 0.6075, 1.0000, 5e-5);
}

RC_GTEST_PROP(Newcombe, SwappingTheGroupsTurnsTheInterval, ()) {
  const auto n1 = *rc::gen::inRange<Index>(1, 500), n2 = *rc::gen::inRange<Index>(1, 500);
  const auto k1 = *rc::gen::inRange<Index>(0, n1 + 1);
  const auto k2 = *rc::gen::inRange<Index>(0, n2 + 1);
  const Interval there = newcombe(k1, n1, k2, n2, 0.95),
                 back = newcombe(k2, n2, k1, n1, 0.95);
  RC_ASSERT(there.value == -back.value && there.low == -back.high &&
            there.high == -back.low);
  RC_ASSERT(there.low <= there.value && there.value <= there.high);
  RC_ASSERT(there.low >= -1 - 1e-12 && there.high <= 1 + 1e-12);
}

RC_GTEST_PROP(RateRatio, HoldsTheRatioAndTurnsWithTheGroups, ()) {
  const auto n1 = *rc::gen::inRange<Index>(1, 500), n2 = *rc::gen::inRange<Index>(1, 500);
  const auto k1 = *rc::gen::inRange<Index>(1, n1 + 1);
  const auto k2 = *rc::gen::inRange<Index>(1, n2 + 1);
  const Interval r = rate_ratio(k1, n1, k2, n2, 0.95),
                 back = rate_ratio(k2, n2, k1, n1, 0.95);
  RC_ASSERT(r.low > 0 && r.low <= r.value * (1 + 1e-9) && r.value <= r.high * (1 + 1e-9));
  RC_ASSERT(std::abs(r.low * back.high - 1) < 1e-6 &&
            std::abs(r.high * back.low - 1) < 1e-6);
}

TEST(RateRatio, NoHitsAtTheTopAreZeroAndBelowUndefined) {
  const Interval zero = rate_ratio(0, 50, 20, 50, 0.95);
  EXPECT_EQ(zero.value, 0);
  EXPECT_EQ(zero.low, 0);
  EXPECT_GT(zero.high, 0);
  EXPECT_LT(zero.high, 0.5);
  EXPECT_FALSE(rate_ratio(3, 50, 0, 50, 0.95).defined());
}

TEST(BetaInterval, HoldsItsProbability) {
  for (const auto& [k, n] : {std::pair<Index, Index>{0, 10},
                             {10, 10},
                             {3, 17},
                             {900, 1000},
                             {3'000'000, 10'000'000}}) {
    const Interval found = beta_interval(k, n, 0.9);
    const double a = static_cast<double>(k) + 0.5, b = static_cast<double>(n - k) + 0.5;
    EXPECT_NEAR(beta_probability(found.low, a, b), 0.05, 1e-8);
    EXPECT_NEAR(beta_probability(found.high, a, b), 0.95, 1e-8);
  }
  // Beta(1, 1) is uniform; Beta(2, 1) has the distribution function x^2.
  EXPECT_NEAR(beta_interval(1, 1, 0.9, 1).low, std::sqrt(0.05), 1e-14);
  EXPECT_NEAR(beta_interval(1, 1, 0.9, 1).high, std::sqrt(0.95), 1e-14);
  EXPECT_FALSE(beta_interval(0, 0, 0.9).defined());
  EXPECT_ERROR(beta_interval(3, 2, 0.9), ErrorKind::bad_option, "3 of 2");
  EXPECT_ERROR(beta_interval(1, 2, 0.9, 0), ErrorKind::bad_option, "prior is 0");
}

TEST(Percentile, IsLinearBetweenNeighbours) {
  // Of 0, 1, ..., 10 the 5 % quantile is .5 and the 95 % quantile 9.5.
  const Interval interval = percentile(4, {10, 3, 5, 1, 0, 2, 9, 8, 4, 7, 6}, 0.9);
  EXPECT_EQ(interval.value, 4);
  EXPECT_CLOSE(interval.low, 0.5, 1e-14);
  EXPECT_CLOSE(interval.high, 9.5, 1e-14);
}

TEST(Percentile, UndefinedReplicatesAreLeftOutUnlessTheyAreMost) {
  const Interval some = percentile(1, {1, kNaN, 3, kNaN}, 0.5);
  EXPECT_CLOSE(some.low, 1.5, 1e-14);
  EXPECT_CLOSE(some.high, 2.5, 1e-14);
  const Interval most = percentile(1, {1, kNaN, 3, kNaN, kNaN}, 0.5);
  EXPECT_TRUE(most.defined());
  EXPECT_TRUE(std::isnan(most.low) && std::isnan(most.high));
  EXPECT_TRUE(std::isnan(percentile(1, {}, 0.5).low));
  EXPECT_TRUE(std::isnan(percentile(kNaN, {1, 2, 3}, 0.5).low));
}

TEST(Judge, TheWholeIntervalMustLieOnOneSide) {
  EXPECT_EQ(judge({0.01, 0.005, 0.02}, 0.02), Verdict::pass);
  EXPECT_EQ(judge({0.05, 0.021, 0.09}, 0.02), Verdict::fail);
  EXPECT_EQ(judge({0.05, 0.02, 0.09}, 0.02), Verdict::unclear);
  EXPECT_EQ(judge({0.01, 0.0, 0.03}, 0.02), Verdict::unclear);
}

TEST(Judge, SignedDifferencesCountOnBothSides) {
  EXPECT_EQ(judge({-0.01, -0.02, 0.01}, 0.02), Verdict::pass);
  EXPECT_EQ(judge({-0.1, -0.2, -0.05}, 0.02), Verdict::fail);
  EXPECT_EQ(judge({-0.01, -0.05, 0.01}, 0.02), Verdict::unclear);
  EXPECT_EQ(judge({0, -0.5, 0.5}, 0.02), Verdict::unclear);
}

TEST(Judge, UndefinedIsNoEvidenceAndNoLimitIsNoVerdict) {
  EXPECT_EQ(judge({}, 0.02), Verdict::unclear);
  EXPECT_EQ(judge({0.01, kNaN, kNaN}, 0.02), Verdict::unclear);
  EXPECT_EQ(judge({0.01, 0, 0.02}, kNaN), Verdict::none);
  EXPECT_ERROR(judge({0, 0, 0}, -1), ErrorKind::bad_option, "limit is -1");
  EXPECT_EQ(to_string(Verdict::unclear), "not enough evidence");
  EXPECT_EQ(to_string(Verdict::pass), "pass");
}

}  // namespace
}  // namespace fmd
