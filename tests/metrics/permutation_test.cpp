#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/testing.h"
#include "metrics/binomial.h"
#include "support/close.h"

namespace fmd {
namespace {

const Confusion kU{.tp = 30, .fp = 5, .tn = 45, .fn = 20};
const Confusion kP{.tp = 40, .fp = 10, .tn = 30, .fn = 20};

double choose(Index n, Index k) {
  double value = 1;
  for (Index i = 1; i <= k; ++i)
    value *= static_cast<double>(n - k + i) / static_cast<double>(i);
  return value;
}

double selection_gap(const GroupCounts& table) {
  const auto rate = [](const std::vector<Index>& g) {
    return static_cast<double>(g[1]) / static_cast<double>(g[0] + g[1]);
  };
  return rate(table[0]) - rate(table[1]);
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

// All ways of dealing the rows out: the exact p-value.
TEST(PermutationTest, AgreesWithFullEnumeration) {
  for (const GroupCounts& counts :
       {GroupCounts{{1, 4}, {4, 1}}, {{3, 2}, {2, 4}}, {{0, 3}, {5, 2}}}) {
    std::vector<int> group, outcome;
    for (int g = 0; g < 2; ++g)
      for (int k = 0; k < 2; ++k)
        for (Index i = 0; i < counts[static_cast<size_t>(g)][static_cast<size_t>(k)]; ++i) {
          group.push_back(g);
          outcome.push_back(k);
        }
    const double observed = std::abs(selection_gap(counts));
    double hits = 0, all = 0;
    std::sort(group.begin(), group.end());
    do {
      GroupCounts table{{0, 0}, {0, 0}};
      for (std::size_t i = 0; i < group.size(); ++i)
        ++table[static_cast<size_t>(group[i])][static_cast<size_t>(outcome[i])];
      hits += std::abs(selection_gap(table)) >= observed - 1e-12;
      ++all;
    } while (std::next_permutation(group.begin(), group.end()));
    const double exact = hits / all;
    const auto test = permutation_test(counts, {}, selection_gap, 40000, {});
    EXPECT_NEAR(test.p_value, exact, 5 * std::sqrt(exact * (1 - exact) / 40000) + 1e-4);
    EXPECT_EQ(test.statistic, selection_gap(counts));
    EXPECT_EQ(test.p_value,
              static_cast<double>(test.hits + 1) / static_cast<double>(40001));
  }
}

TEST(PermutationTest, KeepsGroupsOutcomesAndStrata) {
  const GroupCounts counts{{3, 5, 7, 1}, {10, 0, 2, 2}, {1, 1, 1, 1}};
  const std::vector<int> stratum{0, 0, 1, 1};
  const auto check = [&](const GroupCounts& t) {
    for (std::size_t g = 0; g < 3; ++g) {
      EXPECT_EQ(t[g][0] + t[g][1], counts[g][0] + counts[g][1]);
      EXPECT_EQ(t[g][2] + t[g][3], counts[g][2] + counts[g][3]);
    }
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_EQ(t[0][k] + t[1][k] + t[2][k], counts[0][k] + counts[1][k] + counts[2][k]);
    return 0.5;
  };
  EXPECT_EQ(permutation_test(counts, stratum, check, 200, {}).p_value, 1);
}

TEST(PermutationTest, IsTheSameForAnyThreadsAndFollowsTheSeed) {
  ThreadPool pool(3);
  const auto& info = *find_criterion("equal_opportunity_difference");
  const auto run = [&](const Exec& exec) {
    return permutation_test(info, kU, kP, Exchange::same_label, 999, exec).hits;
  };
  EXPECT_EQ(run({.pool = &pool}), run({}));
  EXPECT_NE(run({.seed = 5}), run({}));
}

TEST(PermutationTest, OfCriteria) {
  // A clear gap is seen, equal groups are not; the ratio asks about its logarithm.
  const Confusion low{.tp = 10, .fp = 2, .tn = 48, .fn = 40};
  const auto p_value = [&](const char* name, const Confusion& u, const Confusion& p) {
    const CriterionInfo& info = *find_criterion(name);
    return permutation_test(info, u, p, natural_exchange(info), 999, {}).p_value;
  };
  for (const char* name : {"statistical_parity_difference", "disparate_impact",
                           "equal_opportunity_ratio", "average_odds_difference"}) {
    EXPECT_LE(p_value(name, low, kP), 0.01) << name;
    EXPECT_LE(p_value(name, kP, low), 0.01) << name;
    EXPECT_EQ(p_value(name, kP, kP), 1) << name;
  }
  EXPECT_TRUE(std::isnan(p_value("equal_opportunity_difference", {.tn = 3}, kP)));
  EXPECT_EQ(natural_exchange(*find_criterion("rd")), Exchange::same_label);
  EXPECT_EQ(natural_exchange(*find_criterion("dar")), Exchange::same_decision);
  EXPECT_EQ(natural_exchange(*find_criterion("dppl")), Exchange::all);
  EXPECT_EQ(natural_exchange(*find_criterion("f1_difference")), Exchange::all);
}

TEST(PermutationTest, PValuesAreUniformWhenThereIsNoGap) {
  Rng rng(9, "null");
  int small = 0;
  for (int i = 0; i < 400; ++i) {
    GroupCounts counts{{0, 0}, {0, 0}};
    for (int g = 0; g < 2; ++g)
      for (int k = 0; k < 40; ++k)
        ++counts[static_cast<size_t>(g)][rng.uniform() < 0.4 ? 1 : 0];
    small += permutation_test(counts, {}, selection_gap, 199, {}).p_value <= 0.1;
  }
  EXPECT_LE(small, 40 + 18);  // at most 10 %, three standard deviations allowed
  EXPECT_GE(small, 10);
}

TEST(PermutationTest, RefusesWrongTables) {
  EXPECT_ERROR(permutation_test({{1, 2}, {3}}, {}, selection_gap, 9, {}),
               ErrorKind::bad_shape, "needs 2");
  EXPECT_ERROR(permutation_test({{1, 2}, {3, -4}}, {}, selection_gap, 9, {}),
               ErrorKind::bad_option, "counts is -4");
  EXPECT_ERROR(permutation_test({{1, 2}, {3, 4}}, {1}, selection_gap, 9, {}),
               ErrorKind::bad_shape, "stratum");
  EXPECT_ERROR(permutation_test({{1, 2}, {3, 4}}, {}, selection_gap, 0, {}),
               ErrorKind::bad_option, "permutations is 0");
}

TEST(AdjustedPValues, ByHand) {
  const std::vector<double> p{0.01, kUndefined, 0.04, 0.03, 0.005};
  const auto h = holm(p), b = benjamini_hochberg(p);
  EXPECT_TRUE(std::isnan(h[1]) && std::isnan(b[1]));
  EXPECT_NEAR(h[4], 0.02, 1e-15);
  EXPECT_NEAR(h[0], 0.03, 1e-15);
  EXPECT_NEAR(h[3], 0.06, 1e-15);
  EXPECT_NEAR(h[2], 0.06, 1e-15);
  EXPECT_NEAR(b[4], 0.02, 1e-15);
  EXPECT_NEAR(b[0], 0.02, 1e-15);
  EXPECT_NEAR(b[3], 0.04, 1e-15);
  EXPECT_NEAR(b[2], 0.04, 1e-15);
  EXPECT_TRUE(holm({}).empty());
  EXPECT_ERROR(holm({1.5}), ErrorKind::bad_option, "p is 1.5");
  EXPECT_ERROR(benjamini_hochberg({-0.1}), ErrorKind::bad_option, "p is -0.1");
}

}  // namespace
}  // namespace fmd
