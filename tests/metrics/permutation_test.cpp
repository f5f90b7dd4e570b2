#include "fmd/metrics/permutation.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "metrics/examples.h"
#include "support/close.h"

namespace fmd {
namespace {

double selection_gap(const GroupCounts& table) {
  const auto rate = [](const std::vector<Index>& g) {
    return static_cast<double>(g[1]) / static_cast<double>(g[0] + g[1]);
  };
  return rate(table[0]) - rate(table[1]);
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

}  // namespace
}  // namespace fmd
