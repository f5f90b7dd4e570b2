#include "fmd/metrics/score_curve.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/loss.h"
#include "support/close.h"

namespace fmd {
namespace {

struct Sample {
  std::vector<double> score;
  std::vector<bool> positive;

  void add(double s, bool y) {
    score.push_back(s);
    positive.push_back(y);
  }
  [[nodiscard]] ScoreRuns runs() const { return score_runs(score, positive); }
  [[nodiscard]] ScoreHistogram histogram(Index bins) const {
    ScoreHistogram h(bins);
    for (std::size_t i = 0; i < score.size(); ++i) h.add(score[i], positive[i]);
    return h;
  }
};

Sample random_sample(Index rows, std::uint64_t seed, double levels = 0) {
  Rng rng(seed, "scores");
  Sample sample;
  for (Index i = 0; i < rows; ++i) {
    double s = rng.uniform();
    if (levels > 0) s = std::round(s * levels) / levels;
    sample.add(s, rng.uniform() < 0.15 + 0.6 * s);
  }
  return sample;
}

// Height of the ROC curve by its definition: the line between the two thresholds whose
// false positive rates enclose x (x is no vertex).
double roc_height(const Sample& sample, double x) {
  double positives = 0, negatives = 0;
  for (const bool y : sample.positive) (y ? positives : negatives) += 1;
  double left_x = 0, left_y = 0, right_x = 1, right_y = 1;
  for (const double t : sample.score) {
    double tp = 0, fp = 0;
    for (std::size_t i = 0; i < sample.score.size(); ++i)
      if (sample.score[i] >= t) (sample.positive[i] ? tp : fp) += 1;
    tp /= positives;
    fp /= negatives;
    if (fp < x && (fp > left_x || (fp == left_x && tp > left_y))) left_x = fp, left_y = tp;
    if (fp > x && (fp < right_x || (fp == right_x && tp < right_y)))
      right_x = fp, right_y = tp;
  }
  return left_y + (right_y - left_y) * (x - left_x) / (right_x - left_x);
}

TEST(ScoreRuns, CountEqualScoresTogether) {
  const ScoreRuns runs = score_runs({0.5, 0.25, 0.5, 1}, {true, false, false, true});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1].score, 0.5);
  EXPECT_EQ(runs[1].positive, 1);
  EXPECT_EQ(runs[1].negative, 1);
}

TEST(ScoreRuns, RefuseWhatIsNoProbability) {
  EXPECT_ERROR(score_runs({0.5, 1.5}, {true, false}), ErrorKind::bad_value,
               "1.5 is not a probability");
  EXPECT_ERROR(score_runs({kUndefined}, {true}), ErrorKind::bad_value, "nan");
  EXPECT_ERROR(score_runs({0.5}, {}), ErrorKind::bad_shape, "positive has 0 entries");
  ScoreHistogram h(10);
  EXPECT_ERROR(h.add(-0.1, true), ErrorKind::bad_value, "-0.1 is not a probability");
  EXPECT_ERROR(ScoreHistogram(0), ErrorKind::bad_option, "bins is 0, must be >= 1");
  EXPECT_ERROR(h.merge(ScoreHistogram(11)), ErrorKind::bad_shape, "11");
  EXPECT_ERROR(bounded(*find_score_metric("ece"), ScoreHistogram(25)),
               ErrorKind::bad_option, "multiple of 10");
}

TEST(ScoreMetrics, ByHand) {
  Sample s;
  s.add(0.9, true);
  s.add(0.8, false);
  s.add(0.6, true);
  s.add(0.3, false);
  const ScoreRuns runs = s.runs();
  EXPECT_DOUBLE_EQ(auc(runs), 0.75);
  EXPECT_DOUBLE_EQ(average_precision(runs), (1 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(ks_statistic(runs), 0.5);
  EXPECT_DOUBLE_EQ(
      log_loss(runs),
      -(std::log(0.9) + std::log(1 - 0.8) + std::log(0.6) + std::log(0.7)) / 4);
  EXPECT_NEAR(brier_score(runs), (0.01 + 0.64 + 0.16 + 0.09) / 4, 1e-15);
  EXPECT_NEAR(mean_absolute_error(runs), (0.1 + 0.8 + 0.4 + 0.3) / 4, 1e-15);
  EXPECT_NEAR(r_squared(runs), 1 - 0.225 / 0.25, 1e-15);
  EXPECT_DOUBLE_EQ(mean_score(runs), 0.65);
  EXPECT_DOUBLE_EQ(generalized_tpr(runs), 0.75);
  EXPECT_DOUBLE_EQ(generalized_fpr(runs), 0.55);
  EXPECT_DOUBLE_EQ(generalized_fnr(runs), 0.25);
  EXPECT_DOUBLE_EQ(generalized_tnr(runs), 0.45);
  EXPECT_NEAR(calibration_error(runs), (0.1 + 0.8 + 0.4 + 0.3) / 4, 1e-15);
  EXPECT_NEAR(largest_calibration_error(runs), 0.8, 1e-15);
  EXPECT_NEAR(calibration_error(runs, 2), (0.3 + std::abs(2.3 - 2)) / 4, 1e-15);
  EXPECT_EQ(calibration_curve(runs)[6].rows, 1);
  EXPECT_TRUE(std::isnan(calibration_curve(runs)[0].mean_score));
}

TEST(ScoreMetrics, AgreeWithThoseOfScoredRows) {
  const Sample s = random_sample(700, 3, 50);
  Scored scored{.p = Matrix(700, 2), .y = {}, .decision = {}, .favorable = 1};
  for (Index i = 0; i < 700; ++i) {
    const double p = s.score[static_cast<std::size_t>(i)];
    scored.p.row(i) << 1 - p, p;
    scored.y.push_back(s.positive[static_cast<std::size_t>(i)]);
  }
  scored.decision = decide(scored.p, 0.5);
  EXPECT_EQ(auc(s.runs()), auc(s.score, s.positive));
  EXPECT_CLOSE(log_loss(s.runs()), log_loss(scored), 1e-12);
  EXPECT_CLOSE(calibration_error(s.runs()), calibration_error(scored), 1e-12);
}

TEST(ScoreMetrics, UndefinedWithoutRows) {
  for (const ScoreMetricInfo& info : score_metrics()) {
    EXPECT_TRUE(std::isnan(info.value({}))) << info.name;
    EXPECT_TRUE(std::isnan(info.bound(ScoreHistogram(10)))) << info.name;
  }
  const ScoreRuns positives{{0.5, 3, 0}};
  for (const char* name : {"auc", "ks", "r2", "generalized_fpr", "generalized_tnr"})
    EXPECT_TRUE(std::isnan(find_score_metric(name)->value(positives))) << name;
  EXPECT_TRUE(std::isnan(abroca(positives, {{0.5, 3, 3}})));
  EXPECT_TRUE(std::isnan(ks_distance(ScoreRuns{}, positives)));
}

// Every histogram figure lies within its bound of the exact one.
RC_GTEST_PROP(ScoreHistogram, StaysWithinItsBounds, ()) {
  const auto rows = *rc::gen::inRange<Index>(2, 300);
  const auto bins = 10 * *rc::gen::inRange<Index>(1, 30);
  const auto seed = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000000));
  const Sample u = random_sample(rows, seed), p = random_sample(rows, seed + 1);
  const ScoreHistogram h = u.histogram(bins);
  for (const ScoreMetricInfo& info : score_metrics()) {
    const double exact = info.value(u.runs());
    const Bounded got = bounded(info, h);
    RC_ASSERT(std::isnan(exact) == std::isnan(got.value));
    if (!std::isnan(exact)) RC_ASSERT(std::abs(got.value - exact) <= got.error + 1e-12);
  }
  const Bounded area = abroca(h, p.histogram(bins));
  if (!std::isnan(area.value))
    RC_ASSERT(std::abs(area.value - abroca(u.runs(), p.runs())) <= area.error + 1e-12);
  const Bounded distance = ks_distance(h, p.histogram(bins));
  RC_ASSERT(std::abs(distance.value - ks_distance(u.runs(), p.runs())) <=
            distance.error + 1e-12);
}

TEST(ScoreHistogram, BoundsOfManyRowsAreTight) {
  const Sample u = random_sample(20000, 1), p = random_sample(20000, 2);
  const ScoreHistogram h = u.histogram(1000);
  for (const char* name : {"auc", "average_precision", "ks", "brier", "mean_score", "ece"})
    EXPECT_LT(bounded(*find_score_metric(name), h).error, 0.003) << name;
  EXPECT_LT(abroca(h, p.histogram(1000)).error, 0.002);
}

TEST(ScoreHistogram, MergesAndTravels) {
  const Sample s = random_sample(500, 9);
  ScoreHistogram whole = s.histogram(40), first(40), second(40);
  for (std::size_t i = 0; i < 500; ++i)
    (i % 3 == 0 ? first : second).add(s.score[i], s.positive[i]);
  second.merge(first);
  EXPECT_EQ(second.positive, whole.positive);
  EXPECT_EQ(second.negative, whole.negative);
  ByteWriter out;
  whole.save(out);
  ByteReader in(out.bytes());
  const ScoreHistogram back = ScoreHistogram::load(in);
  EXPECT_EQ(back.positive, whole.positive);
  EXPECT_EQ(back.negative, whole.negative);
  ScoreHistogram ends(10);
  ends.add(0, true);
  ends.add(1, false);
  EXPECT_EQ(ends.positive.front(), 1);
  EXPECT_EQ(ends.negative.back(), 1);
}

TEST(Abroca, IsTheAreaBetweenTheCurves) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Sample u = random_sample(23, seed, 12), p = random_sample(31, seed + 50, 12);
    // The curves are straight between multiples of 1 / (N_u N_p), and cross seldom: a fine
    // midpoint rule comes near.
    double sum = 0;
    const int steps = 20000;
    for (int i = 0; i < steps; ++i) {
      const double x = (i + 0.5) / steps + 1e-9;
      sum += std::abs(roc_height(u, x) - roc_height(p, x)) / steps;
    }
    EXPECT_NEAR(abroca(u.runs(), p.runs()), sum, 1e-4) << seed;
  }
}

TEST(Abroca, OfOrderedCurvesIsTheDifferenceOfTheirAreas) {
  Sample good, bad;
  for (int i = 0; i < 10; ++i) {
    good.add(0.9 - 0.01 * i, true);
    good.add(0.1 + 0.01 * i, false);
    bad.add(0.5, true);
    bad.add(0.5, false);
  }
  EXPECT_DOUBLE_EQ(abroca(good.runs(), bad.runs()), 0.5);
  EXPECT_EQ(abroca(good.runs(), good.runs()), 0);
}

}  // namespace
}  // namespace fmd
