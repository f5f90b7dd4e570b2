#include "fmd/metrics/scored.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/model/loss.h"
#include "metrics/examples.h"
#include "support/close.h"

namespace fmd {
namespace {

Scored scored(const std::vector<double>& p1, std::vector<std::int32_t> y) {
  return {.p = two_classes(p1),
          .y = std::move(y),
          .decision = decide(two_classes(p1), 0.5),
          .favorable = 1};
}

double share_answered(const Matrix& p, double threshold) {
  const auto decision = decide(p, threshold);
  double ones = 0;
  for (const auto d : decision) ones += d;
  return ones / static_cast<double>(p.rows());
}

TEST(Decide, TwoClassesByThresholdMoreByTheFirstLargest) {
  EXPECT_EQ(decide(two_classes({0.2, 0.3, 0.29999}), 0.3),
            (std::vector<std::int32_t>{0, 1, 0}));
  Matrix p(3, 3);
  p << 0.2, 0.5, 0.3, 0.4, 0.2, 0.4, 0.1, 0.1, 0.8;
  EXPECT_EQ(decide(p, 0.99), (std::vector<std::int32_t>{1, 0, 2}));
}

TEST(ThresholdForRate, LiesHalfWayBetweenTheScoresThatItDivides) {
  EXPECT_CLOSE(threshold_for_rate(two_classes({0.1, 0.2, 0.6, 0.9}), 0.5), 0.4, 1e-15);
  EXPECT_CLOSE(threshold_for_rate(two_classes({0.1, 0.2, 0.6, 0.9}), 0.25), 0.75, 1e-15);
}

TEST(ThresholdForRate, EqualScoresAreAnsweredAlike) {
  const Matrix p = two_classes({0.1, 0.5, 0.5, 0.5, 0.5, 0.9});
  EXPECT_CLOSE(share_answered(p, threshold_for_rate(p, 0.3)), 1.0 / 6, 1e-15);
  EXPECT_CLOSE(share_answered(p, threshold_for_rate(p, 0.7)), 5.0 / 6, 1e-15);
}

TEST(ThresholdForRate, AllAndNone) {
  for (const Matrix& p : {two_classes({0, 0.5, 1}), two_classes({0.3, 0.3}),
                          two_classes({1, 1}), two_classes({0, 0})}) {
    EXPECT_EQ(share_answered(p, threshold_for_rate(p, 0)), 0);
    EXPECT_EQ(share_answered(p, threshold_for_rate(p, 1)), 1);
  }
}

RC_GTEST_PROP(ThresholdForRate, DistinctScoresGiveTheRateToWithinHalfARow, ()) {
  const auto count = *rc::gen::inRange<int>(1, 40);
  const double rate = *rc::gen::inRange<int>(0, 1001) / 1000.0;
  std::vector<double> p1;
  for (int i = 0; i < count; ++i) p1.push_back((i * 7 % count + 0.5) / count);
  std::sort(p1.begin(), p1.end());
  p1.erase(std::unique(p1.begin(), p1.end()), p1.end());
  const double rows = static_cast<double>(p1.size());
  const double share =
      share_answered(two_classes(p1), threshold_for_rate(two_classes(p1), rate));
  RC_ASSERT(std::abs(share - rate) <= 0.5 / rows + 1e-12);
}

TEST(ThresholdForRate, Errors) {
  EXPECT_ERROR(threshold_for_rate(two_classes({0.5}), 1.5), ErrorKind::bad_option,
               "rate is 1.5");
  EXPECT_ERROR(threshold_for_rate(Matrix(0, 2), 0.5), ErrorKind::bad_data, "0 rows");
  EXPECT_ERROR(threshold_for_rate(two_classes({kUndefined}), 0.5), ErrorKind::bad_value,
               "row 0");
}

TEST(Accuracy, CountsRowsWithLabels) {
  const Interval a = accuracy(scored({0.9, 0.8, 0.2, 0.1}, {1, 0, -1, 0}), 0.95);
  const Interval expected = wilson(2, 3, 0.95);
  EXPECT_EQ(a.value, expected.value);
  EXPECT_EQ(a.low, expected.low);
  EXPECT_FALSE(accuracy(scored({0.9}, {}), 0.95).defined());
  EXPECT_FALSE(accuracy(scored({0.9}, {-1}), 0.95).defined());
}

TEST(LogLoss, OfKnownRowsAndFiniteAtZero) {
  EXPECT_CLOSE(log_loss(scored({0.5, 0.8, 0.3}, {1, 0, -1})),
               -(std::log(0.5) + std::log(0.2)) / 2, 1e-14);
  EXPECT_CLOSE(log_loss(scored({0}, {1})), 52 * std::log(2), 1e-14);
  EXPECT_TRUE(std::isnan(log_loss(scored({0.5}, {}))));
}

TEST(CalibrationError, ByHand) {
  // Bin .2-.3 holds .25 and .25 with one hit of two: |.5 - 1| = .5. Bin .9-1 holds 1 with a
  // hit.
  EXPECT_CLOSE(calibration_error(scored({0.25, 0.25, 1}, {0, 1, 1})), 0.5 / 3, 1e-14);
  Scored three{.p = Matrix(2, 3), .y = {2, 0}, .decision = {2, 1}};
  three.p << 0.1, 0.2, 0.7, 0.2, 0.6, 0.2;  // top classes 2 (right) and 1 (wrong)
  EXPECT_CLOSE(calibration_error(three), (0.3 + 0.6) / 2, 1e-14);
  EXPECT_TRUE(std::isnan(calibration_error(scored({0.5}, {}))));
}

TEST(Auc, TiesCountHalf) {
  EXPECT_EQ(auc({1, 2, 3, 4}, {false, false, true, true}), 1);
  EXPECT_EQ(auc({1, 2, 3, 4}, {true, true, false, false}), 0);
  EXPECT_EQ(auc({1, 1, 1}, {true, false, true}), 0.5);
  EXPECT_EQ(auc({1, 2, 2}, {false, false, true}), 0.75);
  EXPECT_TRUE(std::isnan(auc({1, 2}, {true, true})));
  EXPECT_TRUE(std::isnan(auc({1, kUndefined}, {true, false})));
  EXPECT_ERROR(auc({1, 2}, {true}), ErrorKind::bad_shape, "needs 2");
}

TEST(AccuracyChange, ByHandAndPaired) {
  Scored before = scored({0.9, 0.8, 0.2, 0.1, 0.6}, {1, 0, 1, 0, -1}), after = before;
  after.decision = {1, 0, 1, 1, 0};  // two become right, one wrong
  const Interval change = accuracy_change(before, after, 0.95, 500, {});
  EXPECT_CLOSE(change.value, 0.25, 1e-15);
  EXPECT_LE(change.low, 0.25);
  EXPECT_GE(change.high, 0.25);
  const Interval none = accuracy_change(before, before, 0.95, 500, {});
  EXPECT_EQ(none.value, 0);
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 0);
}

TEST(AccuracyChange, HasTheWidthOfMcNemar) {
  // 40 gained and 10 lost of 1,000: standard error sqrt((50 - 30^2 / 1000)) / 1000.
  std::vector<double> p(1000, 0.9);
  Scored before = scored(p, std::vector<std::int32_t>(1000, 1)), after = before;
  for (std::size_t i = 0; i < 40; ++i) before.decision[i] = 0;
  for (std::size_t i = 40; i < 50; ++i) after.decision[i] = 0;
  const Interval change = accuracy_change(before, after, 0.95, 8000, {});
  const double error = std::sqrt(50 - 0.9) / 1000;
  EXPECT_NEAR(change.low, 0.03 - 1.96 * error, 0.15 * error);
  EXPECT_NEAR(change.high, 0.03 + 1.96 * error, 0.15 * error);
}

TEST(AccuracyChange, NeedsTheSameRows) {
  const Scored a = scored({0.9, 0.8}, {1, 0}), b = scored({0.9}, {1}),
               c = scored({0.9, 0.8}, {1, 1});
  EXPECT_ERROR(accuracy_change(a, b, 0.95, 10, {}), ErrorKind::bad_shape, "after has 1");
  EXPECT_ERROR(accuracy_change(a, c, 0.95, 10, {}), ErrorKind::bad_shape,
               "different labels");
}

TEST(ScoredRows, WrongSizesAndLabelsAreNamed) {
  Scored s = scored({0.9, 0.8}, {1, 0});
  s.decision.pop_back();
  EXPECT_ERROR(accuracy(s, 0.95), ErrorKind::bad_shape, "decision has 1 entries, needs 2");
  EXPECT_ERROR(log_loss(scored({0.9, 0.8}, {1, 2})), ErrorKind::bad_option, "y is 2");
}

}  // namespace
}  // namespace fmd
