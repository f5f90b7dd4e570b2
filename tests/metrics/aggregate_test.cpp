#include "fmd/metrics/aggregate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

const double kNo = kUndefined;
const Confusion kA{.tp = 30, .fp = 5, .tn = 45, .fn = 20};   // tpr .6, fpr .1
const Confusion kB{.tp = 40, .fp = 10, .tn = 30, .fn = 20};  // tpr .667, fpr .25
const Confusion kC{.tp = 10, .fp = 1, .tn = 9, .fn = 30};    // tpr .25, fpr .1

void expect(const Aggregate& got, double value, int first, int second) {
  EXPECT_DOUBLE_EQ(got.value, value);
  EXPECT_EQ(got.first, first);
  EXPECT_EQ(got.second, second);
}

TEST(Aggregate, ByHand) {
  const std::vector<double> values{0.4, kNo, 0.1, 0.5, 0.1};
  expect(group_min(values), 0.1, 2, -1);
  expect(group_max(values), 0.5, 3, -1);
  expect(group_difference(values), 0.4, 3, 2);
  expect(group_ratio(values), 0.2, 2, 3);
  expect(difference_to_overall(values, 0.45), 0.35, 2, -1);
  expect(ratio_to_overall(values, 0.2), 0.4, 3, -1);
}

TEST(Aggregate, NothingToCompareIsUndefined) {
  for (const std::vector<double>& values :
       {std::vector<double>{}, {kNo, kNo}, {0.5, kNo}, {0.5}}) {
    EXPECT_TRUE(std::isnan(group_difference(values).value));
    EXPECT_TRUE(std::isnan(group_ratio(values).value));
    EXPECT_EQ(group_ratio(values).first, -1);
  }
  EXPECT_TRUE(std::isnan(group_min({kNo}).value));
  EXPECT_EQ(group_max({kNo}).first, -1);
  EXPECT_TRUE(std::isnan(group_ratio({0, 0}).value));
  EXPECT_TRUE(std::isnan(difference_to_overall({0.5}, kNo).value));
  EXPECT_TRUE(std::isnan(ratio_to_overall({0.5}, kNo).value));
  EXPECT_TRUE(std::isnan(odds_difference({kA, {.tp = 3, .fn = 3}})));
}

TEST(Aggregate, ReferencesAndTheRest) {
  const std::vector<Confusion> groups{kA, kB, kC};
  const RateInfo& tpr = *find_rate("tpr");
  const CriterionInfo& ratio = *find_criterion("equal_opportunity_ratio");
  EXPECT_EQ(majority_group({kC, kA, kB}), 1);
  EXPECT_EQ(smallest_group(tpr, groups), 2);
  EXPECT_EQ(smallest_group(tpr, {{}, {}}), -1);
  EXPECT_CLOSE(values_of(tpr, groups), (std::vector<double>{0.6, 40.0 / 60, 0.25}), 1e-15);
  EXPECT_DOUBLE_EQ(overall_of(tpr, groups), 80.0 / 150);
  EXPECT_CLOSE(versus_reference(ratio, groups, 0),
               (std::vector<double>{1, 40.0 / 36, 0.25 / 0.6}), 1e-15);
  EXPECT_CLOSE(
      one_versus_rest(ratio, groups),
      (std::vector<double>{0.6 / 0.5, (40.0 / 60) / (40.0 / 90), 0.25 / (70.0 / 110)}),
      1e-15);
  EXPECT_ERROR(versus_reference(ratio, groups, 3), ErrorKind::bad_option,
               "versus_reference: option reference is 3, must be a group below 3");
}

TEST(Aggregate, OddsByHand) {
  const std::vector<Confusion> groups{kA, kB, kC};
  const double tpr = 40.0 / 60 - 0.25, fpr = 0.25 - 0.1;
  EXPECT_DOUBLE_EQ(odds_difference(groups), tpr);
  EXPECT_DOUBLE_EQ(odds_difference(groups, OddsOf::mean), (tpr + fpr) / 2);
  EXPECT_DOUBLE_EQ(odds_ratio(groups), 0.25 / (40.0 / 60));
  EXPECT_DOUBLE_EQ(odds_ratio(groups, OddsOf::mean), (0.25 / (40.0 / 60) + 0.1 / 0.25) / 2);
  EXPECT_DOUBLE_EQ(odds_difference(groups, OddsOf::worst_case, Against::overall),
                   80.0 / 150 - 0.25);
}

TEST(Aggregate, WithinStrata) {
  const auto parity = [](const std::vector<Confusion>& g) {
    return find_criterion("statistical_parity_difference")->value(g[0], g[1]);
  };
  // Differences -.15 (200 rows), undefined, .5 - .22 (150 rows).
  const Stratified found = within_strata({{kA, kB}, {kA, {}}, {kB, kC}}, parity);
  EXPECT_DOUBLE_EQ(found.by_stratum[0], 0.35 - 0.5);
  EXPECT_TRUE(std::isnan(found.by_stratum[1]));
  EXPECT_DOUBLE_EQ(found.worst, 0.5 - 0.22);
  EXPECT_EQ(found.worst_stratum, 2);
  EXPECT_DOUBLE_EQ(found.mean, (200 * (0.35 - 0.5) + 150 * (0.5 - 0.22)) / 350);
  // .7 is farther from 1 than 1.25 in the logarithm.
  const auto impact = [](const std::vector<Confusion>& g) {
    return find_criterion("disparate_impact")->value(g[0], g[1]);
  };
  const Confusion d{.tp = 40, .tn = 60};
  EXPECT_EQ(within_strata({{kA, kB}, {kB, d}}, impact, true).worst_stratum, 0);
  EXPECT_EQ(within_strata({{kA, {}}}, parity).worst_stratum, -1);
}

}  // namespace
}  // namespace fmd
