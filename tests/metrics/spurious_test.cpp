#include "fmd/metrics/spurious.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

// Waterbirds' kind of table: labels land, water; attributes land, water.
const LabelAttributeTable kTable{2, 2, {{90, 100}, {60, 100}, {30, 50}, {48, 50}}};

TEST(Spurious, ByHand) {
  const WorstCell worst = worst_cell(kTable, 0.95);
  EXPECT_EQ(worst.label, 0);
  EXPECT_EQ(worst.attribute, 1);
  EXPECT_DOUBLE_EQ(worst.accuracy.value, 0.6);
  // The smallest ends of the four cells: 30 of 50 are less certain than 60 of 100.
  EXPECT_DOUBLE_EQ(worst.accuracy.low, wilson(30, 50, 1 - 0.05 / 4).low);
  EXPECT_DOUBLE_EQ(worst.accuracy.high, wilson(60, 100, 1 - 0.05 / 4).high);
  EXPECT_NEAR(unbiased_accuracy(kTable, 0.95).value, (0.9 + 0.6 + 0.6 + 0.96) / 4, 1e-15);
  const Interval weighted = reweighted_accuracy(kTable, {95, 5, 5, 95}, 0.95);
  EXPECT_NEAR(weighted.value, (95 * 0.9 + 5 * 0.6 + 5 * 0.6 + 95 * 0.96) / 200, 1e-15);
  const auto aligned = aligned_attributes(2, 2, {95, 5, 5, 95});
  EXPECT_EQ(aligned, (std::vector<int>{0, 1}));
  const AlignedAccuracy sides = aligned_accuracy(kTable, aligned, 0.95);
  EXPECT_NEAR(sides.aligned.value, 138.0 / 150, 1e-15);
  EXPECT_NEAR(sides.conflicting.value, 90.0 / 150, 1e-15);
  EXPECT_DOUBLE_EQ(sides.gap.low, newcombe(138, 150, 90, 150, 0.95).low);
}

// Newcombe's interval of a difference is that of a mean of p1 and 1 - p2, doubled.
TEST(Spurious, IntervalOfTheMeanIsNewcombes) {
  const LabelAttributeTable table{1, 2, {{30, 50}, {20, 80}}};
  const Interval mean = unbiased_accuracy(table, 0.9);
  const Interval difference = newcombe(30, 50, 60, 80, 0.9);
  EXPECT_NEAR(2 * mean.value - 1, difference.value, 1e-14);
  EXPECT_NEAR(2 * mean.low - 1, difference.low, 1e-14);
  EXPECT_NEAR(2 * mean.high - 1, difference.high, 1e-14);
}

TEST(Spurious, AlignedIsInProportionToTheAttribute) {
  // CelebA's kind: label 0 has more of attribute 0 too, but less than its share.
  EXPECT_EQ(aligned_attributes(2, 2, {71, 66, 22, 1}), (std::vector<int>{1, 0}));
  EXPECT_EQ(aligned_attributes(2, 2, {0, 0, 22, 1})[0], -1);
}

TEST(Spurious, EmptyCellsAreLeftOut) {
  const LabelAttributeTable table{2, 2, {{0, 0}, {6, 10}, {0, 0}, {8, 10}}};
  EXPECT_EQ(worst_cell(table, 0.95).attribute, 1);
  EXPECT_NEAR(unbiased_accuracy(table, 0.95).value, 0.7, 1e-15);
  EXPECT_NEAR(reweighted_accuracy(table, {0, 3, 0, 1}, 0.95).value, 0.65, 1e-15);
  EXPECT_FALSE(reweighted_accuracy(table, {1, 1, 0, 0}, 0.95).defined());
  EXPECT_FALSE(aligned_accuracy(table, {0, 0}, 0.95).gap.defined());
  const LabelAttributeTable none{1, 1, {{0, 0}}};
  EXPECT_FALSE(worst_cell(none, 0.95).accuracy.defined());
  EXPECT_FALSE(unbiased_accuracy(none, 0.95).defined());
}

TEST(Spurious, RefusesWrongSizes) {
  EXPECT_ERROR(worst_cell({2, 2, {{1, 2}}}, 0.95), ErrorKind::bad_shape, "needs 4");
  EXPECT_ERROR(reweighted_accuracy(kTable, {1}, 0.95), ErrorKind::bad_shape, "training");
  EXPECT_ERROR(reweighted_accuracy(kTable, {1, -1, 1, 1}, 0.95), ErrorKind::bad_option,
               "training is -1");
  EXPECT_ERROR(aligned_accuracy(kTable, {0}, 0.95), ErrorKind::bad_shape, "aligned");
  EXPECT_ERROR(worst_cell({1, 1, {{3, 2}}}, 0.95), ErrorKind::bad_option, "3 of 2");
}

}  // namespace
}  // namespace fmd
