#include "metrics/groups/widest_pair.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/metrics/group.h"

namespace fmd {
namespace {

using internal::WidestPair;

TEST(WidestPair, HasTheLargestEndsOfAllPairs) {
  WidestPair widest(false);
  widest.add({0, 1, "tpr", {-.2, -.3, -.1}});
  widest.add({0, 2, "tpr", {.1, -.4, .6}});  // few rows: less wide, and less certain
  widest.add({1, 2, "tpr", {.15, .12, .18}});
  const Comparison found = widest.widest();
  EXPECT_EQ(found.first, 1);  // turned
  EXPECT_EQ(found.second, 0);
  EXPECT_EQ(found.difference.value, .2);
  EXPECT_EQ(found.difference.low, .12);
  EXPECT_EQ(found.difference.high, .6);
}

TEST(WidestPair, TurnsRatiosBelowOne) {
  WidestPair widest(true);
  widest.add({0, 1, "selection_rate", {2, 1.6, 2.5}});
  widest.add({0, 2, "selection_rate", {.9, .3, 1.5}});
  const Comparison found = widest.widest();
  EXPECT_EQ(found.first, 1);
  EXPECT_DOUBLE_EQ(found.difference.value, .5);
  EXPECT_DOUBLE_EQ(found.difference.low, .3);
  EXPECT_DOUBLE_EQ(found.difference.high, 1 / 1.6);
}

TEST(WidestPair, APairWithoutAnIntervalLeavesNone) {
  WidestPair widest(false);
  EXPECT_FALSE(widest.widest().difference.defined());
  widest.add({0, 1, "tpr", {.2, .1, .3}});
  widest.add({0, 2, "tpr", {}});
  EXPECT_EQ(widest.widest().difference.value, .2);
  EXPECT_TRUE(std::isnan(widest.widest().difference.low));
}

// Which of two equal groups is the larger one is chance. The value must not turn with it.
TEST(WidestPair, AReportWithoutAReferenceDoesNotTurnWithTheLargestGroup) {
  const auto report = [](Index first, Index second, int reference) {
    Scored scored;
    scored.decision.clear();
    std::vector<std::int32_t> code;
    const auto add = [&](Index rows, std::int32_t group, Index chosen) {
      for (Index i = 0; i < rows; ++i) {
        scored.decision.push_back(i < chosen ? 1 : 0);
        scored.y.push_back(i % 2 == 0 ? 1 : 0);
        code.push_back(group);
      }
    };
    add(first, 0, first / 2);
    add(second, 1, second / 4);
    scored.p = Matrix::Constant(first + second, 2, .5);
    scored.favorable = 1;
    GroupOptions options;
    options.replicates = 50;
    options.reference = reference;
    return group_report(scored, "sex", {"a", "b"}, code, options, {});
  };
  for (const char* name :
       {"disparate_impact", "f1_difference", "balanced_accuracy_difference",
        "statistical_parity_difference"}) {
    const GroupReport small = report(400, 404, -1), large = report(404, 400, -1);
    const double gap = small.find(name)->value.value;
    EXPECT_NEAR(gap, large.find(name)->value.value, .01) << name;
    if (std::string(name) == "disparate_impact")
      EXPECT_LE(gap, 1);
    else
      EXPECT_GE(gap, 0);
  }
  // A named reference keeps the sign of the formula.
  EXPECT_LT(report(400, 404, 0).find("statistical_parity_difference")->value.value, 0);
  EXPECT_GT(report(400, 404, 1).find("statistical_parity_difference")->value.value, 0);
}

}  // namespace
}  // namespace fmd
