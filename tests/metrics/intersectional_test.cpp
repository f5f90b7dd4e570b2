#include "fmd/metrics/intersectional.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

using Counts = std::vector<std::vector<double>>;

TEST(DifferentialFairness, ByHand) {
  // P(1): 30.5/101, 60.5/101, 5.5/11.
  const auto found = differential_fairness({{70, 30}, {40, 60}, {5, 5}});
  EXPECT_DOUBLE_EQ(found.epsilon, std::log(60.5 / 30.5));
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.second, 0);
  EXPECT_EQ(found.outcome, 1);
}

RC_GTEST_PROP(DifferentialFairness, IsTheMaximumOverAllPairsAndOutcomes, ()) {
  const auto outcomes = *rc::gen::inRange<std::size_t>(1, 4);
  Counts counts(*rc::gen::inRange<std::size_t>(1, 5));
  for (auto& group : counts)
    for (std::size_t y = 0; y < outcomes; ++y)
      group.push_back(static_cast<double>(*rc::gen::inRange(0, 12)));
  const double alpha = 0.7;
  double widest = kUndefined;
  for (const auto& a : counts) {
    for (const auto& b : counts) {
      double na = 0, nb = 0;
      for (const double k : a) na += k;
      for (const double k : b) nb += k;
      if (&a == &b || na == 0 || nb == 0) continue;
      for (std::size_t y = 0; y < outcomes; ++y) {
        const double m = static_cast<double>(outcomes);
        const double ratio = std::log((a[y] + alpha) / (na + m * alpha)) -
                             std::log((b[y] + alpha) / (nb + m * alpha));
        widest = std::fmax(widest, std::abs(ratio));
      }
    }
  }
  const double got = differential_fairness(counts, alpha).epsilon;
  RC_ASSERT((std::isnan(widest) ? std::isnan(got) : std::abs(got - widest) < 1e-12));
}

TEST(DifferentialFairness, Edges) {
  EXPECT_TRUE(std::isnan(differential_fairness({}).epsilon));
  EXPECT_TRUE(std::isnan(differential_fairness({{3, 4}, {0, 0}}).epsilon));
  EXPECT_EQ(differential_fairness({{3, 4}, {0, 0}}).first, -1);
  EXPECT_TRUE(std::isinf(differential_fairness({{3, 4}, {3, 0}}, 0).epsilon));
  // Nobody has outcome 1: it does not differ.
  EXPECT_EQ(differential_fairness({{3, 0}, {5, 0}}, 0).epsilon, 0);
  EXPECT_ERROR(differential_fairness({{3, 4}}, -1), ErrorKind::bad_option, "alpha is -1");
  EXPECT_ERROR(differential_fairness({{3, 4}, {1}}), ErrorKind::bad_shape, "needs 2");
  EXPECT_ERROR(differential_fairness({{3, -4}}), ErrorKind::bad_option, "counts is -4");
}

TEST(BiasAmplification, IsTheDifferenceOfDecisionsAndLabels) {
  const std::vector<Confusion> groups{{.tp = 30, .fp = 5, .tn = 45, .fn = 20},
                                      {.tp = 40, .fp = 10, .tn = 30, .fn = 20}};
  const auto found = bias_amplification(groups);
  EXPECT_DOUBLE_EQ(found.decisions.epsilon, std::log(50.5 / 35.5));
  EXPECT_DOUBLE_EQ(found.labels.epsilon, std::log(50.5 / 40.5));
  EXPECT_DOUBLE_EQ(found.amplification, std::log(50.5 / 35.5) - std::log(50.5 / 40.5));
}

TEST(SubgroupFairness, ByHand) {
  const std::vector<Confusion> groups{{.tp = 30, .fp = 5, .tn = 45, .fn = 20},   // fpr .1
                                      {.tp = 40, .fp = 10, .tn = 30, .fn = 20},  // .25
                                      {.tp = 5, .fp = 5, .tn = 5, .fn = 5}};     // .5
  const auto found = subgroup_fairness(*find_rate("fpr"), groups);
  // Overall 20 of 100; 50/220 * .1, 40/220 * .05, 10/220 * .3.
  EXPECT_DOUBLE_EQ(found.value, 50.0 / 220 * 0.1);
  EXPECT_EQ(found.group, 0);
  EXPECT_DOUBLE_EQ(found.difference, 0.1 - 0.2);
  const auto rows = subgroup_fairness(*find_rate("fpr"), groups, SubgroupWeight::all_rows);
  EXPECT_DOUBLE_EQ(rows.value, 100.0 / 220 * 0.1);
  EXPECT_TRUE(std::isnan(subgroup_fairness(*find_rate("fpr"), {{}, {}}).value));
  EXPECT_ERROR(subgroup_fairness(*find_rate("f1"), groups), ErrorKind::bad_option,
               "rate is f1, must be a share of rows");
}

}  // namespace
}  // namespace fmd
