#include "fmd/metrics/entropy.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(Entropy, ByHand) {
  // b = 0, 1, 1, 2: mean 1.
  const auto b = benefits(Confusion{.tp = 1, .fp = 1, .tn = 1, .fn = 1});
  EXPECT_DOUBLE_EQ(generalized_entropy(b, 2), 0.25);
  EXPECT_DOUBLE_EQ(theil_index(b), 2 * std::log(2.0) / 4);
  EXPECT_DOUBLE_EQ(coefficient_of_variation(b), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(generalized_entropy(b, 3), (1.0 + 1.0 + 8.0 - 4.0) / 4 / 6);
  EXPECT_TRUE(std::isnan(generalized_entropy(b, 0)));
  EXPECT_TRUE(std::isnan(generalized_entropy(b, -1)));
  const std::vector<Benefit> some{{1, 2}, {4, 1}};
  EXPECT_DOUBLE_EQ(generalized_entropy(some, 0), -(2 * std::log(0.5) + std::log(2.0)) / 3);
  EXPECT_DOUBLE_EQ(generalized_entropy(some, -1), ((2 * 2 + 0.5) / 3 - 1) / 2);
}

TEST(Entropy, UndefinedAndRefused) {
  EXPECT_TRUE(std::isnan(generalized_entropy({})));
  EXPECT_TRUE(std::isnan(generalized_entropy({{0, 5}})));
  EXPECT_TRUE(std::isnan(coefficient_of_variation({{0, 5}})));
  EXPECT_TRUE(std::isnan(between_group_entropy({{}, {}})));
  EXPECT_ERROR(generalized_entropy({{-1, 5}}), ErrorKind::bad_option, "benefit is -1");
  EXPECT_ERROR(generalized_entropy({{1, -5}}), ErrorKind::bad_option, "rows is -5");
  EXPECT_ERROR(generalized_entropy({{1, 5}}, kUndefined), ErrorKind::bad_option, "alpha");
}

TEST(Entropy, OfDecisionsIsThatOfScoresOf0And1) {
  const Confusion c{.tp = 7, .fp = 3, .tn = 11, .fn = 4};
  const auto runs = score_runs({0, 0, 1, 1}, {true, false, true, false});
  EXPECT_EQ(runs.size(), 2u);
  const ScoreRuns scores{{0, 4, 11}, {1, 7, 3}};
  for (const double alpha : {0.5, 1.0, 2.0, 3.0})
    EXPECT_CLOSE(generalized_entropy(benefits(scores), alpha),
                 generalized_entropy(benefits(c), alpha), 1e-14);
  const auto b = benefits(ScoreRuns{{0.25, 2, 3}});
  EXPECT_EQ(b[0].value, 0.25);
  EXPECT_EQ(b[0].rows, 2);
  EXPECT_EQ(b[1].value, 1.25);
  EXPECT_EQ(b[1].rows, 3);
}

// GEI = between + sum_g (n_g / n) (mu_g / mu)^alpha GEI_g.
RC_GTEST_PROP(Entropy, SplitsIntoBetweenAndWithin, ()) {
  const double alpha = *rc::gen::element(0.5, 1.0, 2.0, 3.0);
  std::vector<std::vector<Benefit>> groups;
  std::vector<Benefit> all;
  for (int g = 0; g < 3; ++g) {
    groups.emplace_back();
    for (const double value : {0.0, 1.0, 2.0}) {
      groups.back().push_back({value, static_cast<double>(*rc::gen::inRange(1, 30))});
      all.push_back(groups.back().back());
    }
  }
  const auto moments = [](const std::vector<Benefit>& b) {
    double sum = 0, rows = 0;
    for (const Benefit& x : b) sum += x.value * x.rows, rows += x.rows;
    return std::pair{rows, sum / rows};
  };
  const auto [n, mu] = moments(all);
  double total = between_group_entropy(groups, alpha);
  for (const auto& group : groups) {
    const auto [rows, mean] = moments(group);
    total += rows / n * std::pow(mean / mu, alpha) * generalized_entropy(group, alpha);
  }
  RC_ASSERT(std::abs(total - generalized_entropy(all, alpha)) < 1e-12);
}

}  // namespace
}  // namespace fmd
