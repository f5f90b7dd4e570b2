#include "fmd/metrics/confusion.h"

#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "metrics/examples.h"
#include "support/close.h"

namespace fmd {
namespace {

double rate(const char* name, const Confusion& c) { return find_rate(name)->value(c); }
double criterion(const char* name, const Confusion& u, const Confusion& p) {
  return find_criterion(name)->value(u, p);
}

TEST(GroupRates, ByHand) {
  EXPECT_DOUBLE_EQ(rate("base_rate", kU), 0.5);
  EXPECT_DOUBLE_EQ(rate("selection_rate", kU), 0.35);
  EXPECT_DOUBLE_EQ(rate("tpr", kU), 0.6);
  EXPECT_DOUBLE_EQ(rate("tnr", kU), 0.9);
  EXPECT_DOUBLE_EQ(rate("fpr", kU), 0.1);
  EXPECT_DOUBLE_EQ(rate("fnr", kU), 0.4);
  EXPECT_DOUBLE_EQ(rate("ppv", kU), 30.0 / 35);
  EXPECT_DOUBLE_EQ(rate("npv", kU), 45.0 / 65);
  EXPECT_DOUBLE_EQ(rate("fdr", kU), 5.0 / 35);
  EXPECT_DOUBLE_EQ(rate("for", kU), 20.0 / 65);
  EXPECT_DOUBLE_EQ(rate("accuracy", kU), 0.75);
  EXPECT_DOUBLE_EQ(rate("error_rate", kU), 0.25);
  EXPECT_DOUBLE_EQ(rate("balanced_accuracy", kU), 0.75);
  EXPECT_DOUBLE_EQ(rate("f1", kU), 60.0 / 85);
  EXPECT_DOUBLE_EQ(rate("mcc", kU),
                   (30 * 45 - 5 * 20) / std::sqrt(35.0 * 50.0 * 50.0 * 65.0));
  EXPECT_DOUBLE_EQ(rate("fn_fp_ratio", kU), 4);
  EXPECT_DOUBLE_EQ(rate("conditional_acceptance", kU), 50.0 / 35);
  EXPECT_DOUBLE_EQ(rate("conditional_rejection", kU), 50.0 / 65);
}

TEST(GroupRates, NothingOfNothingIsUndefined) {
  for (const RateInfo& info : group_rates())
    EXPECT_TRUE(std::isnan(info.value({}))) << info.name;
  for (const CriterionInfo& info : group_criteria()) {
    EXPECT_TRUE(std::isnan(info.value({}, kP))) << info.name;
    EXPECT_TRUE(std::isnan(info.value(kU, {}))) << info.name;
  }
  // No negatives: what is about positives alone is still there.
  const Confusion positives{.tp = 3, .fn = 1};
  EXPECT_TRUE(std::isnan(rate("fpr", positives)));
  EXPECT_TRUE(std::isnan(rate("balanced_accuracy", positives)));
  EXPECT_DOUBLE_EQ(rate("tpr", positives), 0.75);
  EXPECT_TRUE(std::isnan(criterion("equalized_odds_difference", kU, positives)));
  EXPECT_TRUE(std::isnan(criterion("equalized_odds_difference", positives, kP)));
  EXPECT_TRUE(std::isnan(criterion("disparate_impact", kU, {.tn = 5, .fn = 2})));
}

TEST(GroupRates, RowsWithoutALabelCountForSelectionAlone) {
  Confusion more = kU;
  more.selected_unlabelled = 13;
  more.rejected_unlabelled = 7;
  for (const RateInfo& info : group_rates()) {
    if (info.name == std::string("selection_rate"))
      EXPECT_DOUBLE_EQ(info.value(more), 48.0 / 120);
    else
      EXPECT_DOUBLE_EQ(info.value(more), info.value(kU)) << info.name;
  }
}

TEST(GroupCriteria, ByHand) {
  EXPECT_DOUBLE_EQ(criterion("statistical_parity_difference", kU, kP), 0.35 - 0.5);
  EXPECT_DOUBLE_EQ(criterion("disparate_impact", kU, kP), 0.7);
  EXPECT_DOUBLE_EQ(criterion("equal_opportunity_difference", kU, kP), 0.6 - 40.0 / 60);
  EXPECT_DOUBLE_EQ(criterion("equalized_odds_difference", kU, kP), 0.25 - 0.1);
  EXPECT_DOUBLE_EQ(criterion("equalized_odds_ratio", kU, kP), 0.1 / 0.25);
  EXPECT_DOUBLE_EQ(criterion("average_odds_difference", kU, kP),
                   (0.1 - 0.25 + 0.6 - 40.0 / 60) / 2);
  EXPECT_DOUBLE_EQ(criterion("average_abs_odds_difference", kU, kP),
                   (0.25 - 0.1 + 40.0 / 60 - 0.6) / 2);
  EXPECT_DOUBLE_EQ(criterion("average_predictive_value_difference", kU, kP),
                   (30.0 / 35 - 0.8 + 20.0 / 65 - 0.4) / 2);
  EXPECT_DOUBLE_EQ(criterion("treatment_equality", kU, kP), 4 - 2);
  EXPECT_DOUBLE_EQ(criterion("dca", kU, kP), 60.0 / 50 - 50.0 / 35);
  EXPECT_DOUBLE_EQ(criterion("dcr", kU, kP), 50.0 / 65 - 40.0 / 50);
  EXPECT_DOUBLE_EQ(criterion("dar", kU, kP), 40.0 / 50 - 30.0 / 35);
  EXPECT_DOUBLE_EQ(criterion("drr", kU, kP), 45.0 / 65 - 30.0 / 50);
  EXPECT_DOUBLE_EQ(criterion("rd", kU, kP), 40.0 / 60 - 0.6);
  EXPECT_DOUBLE_EQ(criterion("sd", kU, kP), 0.9 - 0.75);
}

// A criterion that names its rate is that rate's difference or ratio, with that sign.
TEST(GroupCriteria, FollowTheirRate) {
  for (const CriterionInfo& info : group_criteria()) {
    if (info.rate == nullptr) continue;
    const RateInfo* rate = find_rate(info.rate);
    ASSERT_NE(rate, nullptr) << info.name;
    const double u = rate->value(kU), p = rate->value(kP);
    const double expected = info.ratio ? u / p : info.turned ? p - u : u - p;
    EXPECT_DOUBLE_EQ(info.value(kU, kP), expected) << info.name;
  }
}

TEST(GroupCriteria, NamesAreUniqueAndUnlikeTheMeasuresOfTheAudit) {
  std::set<std::string> names{"demographic_parity",
                              "equal_opportunity",
                              "equalized_odds",
                              "accuracy_difference",
                              "demographic_parity_soft",
                              "equal_opportunity_soft",
                              "co",
                              "co_tv",
                              "co_worst",
                              "co_large",
                              "flip_rate",
                              "selection_ratio",
                              "worst_group_accuracy"};
  for (const RateInfo& info : group_rates())
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  for (const CriterionInfo& info : group_criteria())
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  EXPECT_EQ(find_rate("nothing"), nullptr);
  EXPECT_EQ(find_criterion("nothing"), nullptr);
}

TEST(GroupCriteria, ClosedIntervals) {
  const auto interval = [](const char* name) {
    return criterion_interval(*find_criterion(name), kU, kP, 0.9);
  };
  const auto expect = [](const Interval& a, const Interval& b) {
    EXPECT_DOUBLE_EQ(a.value, b.value);
    EXPECT_DOUBLE_EQ(a.low, b.low);
    EXPECT_DOUBLE_EQ(a.high, b.high);
  };
  expect(interval("equal_opportunity_difference"), newcombe(30, 50, 40, 60, 0.9));
  expect(interval("rd"), newcombe(40, 60, 30, 50, 0.9));
  expect(interval("disparate_impact"), rate_ratio(35, 100, 50, 100, 0.9));
  expect(share_interval({3, 10}, 0.9), wilson(3, 10, 0.9));
  EXPECT_TRUE(std::isnan(interval("f1_difference").low));
  EXPECT_DOUBLE_EQ(interval("f1_difference").value, 60.0 / 85 - 80.0 / 110);
  // Sums of weights are no counts.
  const Interval weighted = share_interval({2.5, 10}, 0.9);
  EXPECT_DOUBLE_EQ(weighted.value, 0.25);
  EXPECT_TRUE(std::isnan(weighted.low));
}

RC_GTEST_PROP(GroupRates, SharesLieBetween0And1AndTheirComplementsAddUp, ()) {
  const auto count = [] { return static_cast<double>(*rc::gen::inRange(0, 50)); };
  const Confusion c{.tp = count(), .fp = count(), .tn = count(), .fn = count()};
  for (const RateInfo& info : group_rates()) {
    const double value = info.value(c);
    if (info.share == nullptr || std::isnan(value)) continue;
    RC_ASSERT(value >= 0 && value <= 1);
    RC_ASSERT(info.share(c).value() == value);
  }
  const auto complement = [&](const char* a, const char* b) {
    const double sum = rate(a, c) + rate(b, c);
    return std::isnan(sum) || std::abs(sum - 1) < 1e-12;
  };
  RC_ASSERT(complement("tpr", "fnr") && complement("tnr", "fpr"));
  RC_ASSERT(complement("ppv", "fdr") && complement("npv", "for"));
  RC_ASSERT(complement("accuracy", "error_rate"));
}

TEST(SelectedShares, ByHand) {
  EXPECT_CLOSE(selected_shares({kU, kP, {}}),
               (std::vector<double>{35.0 / 85, 50.0 / 85, 0}), 1e-15);
  EXPECT_TRUE(std::isnan(selected_shares({{.tn = 3}})[0]));
}

}  // namespace
}  // namespace fmd
