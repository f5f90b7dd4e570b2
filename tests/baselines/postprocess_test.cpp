#include "fmd/baselines/postprocess.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "baselines/golden.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

using test::baselines_golden;
using test::post_rows;

PostRows random_rows(Index n, Index groups, std::uint64_t seed, double step = 0.01) {
  Rng rng(seed, "post rows");
  PostRows rows;
  for (Index i = 0; i < n; ++i) {
    const auto g = static_cast<std::int32_t>(rng.below(groups));
    const double p = 1 / (1 + std::exp(-rng.normal() - 0.4 * g));
    rows.score.push_back(std::round(p / step) * step);
    rows.favorable.push_back(rng.uniform() < p ? 1 : 0);
    rows.group.push_back(g);
  }
  return rows;
}

std::vector<std::uint8_t> decide(const PostRows& rows, double threshold = 0.5) {
  std::vector<std::uint8_t> decided;
  for (const double s : rows.score) decided.push_back(s >= threshold ? 1 : 0);
  return decided;
}

// TPR (label 1) or FPR (label 0) of a group, for probabilities of a favourable answer.
template <typename Yes>
double rate(const PostRows& rows, std::int32_t group, int label, const Yes& yes) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < rows.score.size(); ++i) {
    if (rows.group[i] != group || rows.favorable[i] != label) continue;
    sum += yes(i);
    count += 1;
  }
  return sum / count;
}

TEST(EqualizedOdds, AgreesWithAif360) {
  for (const auto& c : baselines_golden()["postprocessing"]) {
    const PostRows rows = post_rows(c);
    const auto& expected = c["equalized_odds"];
    const EqualizedOdds found =
        fit_equalized_odds(rows, c["d"].get<std::vector<std::uint8_t>>());
    EXPECT_CLOSE(found.objective, expected["objective"].get<double>(), 1e-9);
    EXPECT_TRUE(found.unique);
    for (std::size_t g = 0; g < 2; ++g) {
      EXPECT_NEAR(found.keep[g], expected["keep"][g].get<double>(), 1e-7);
      EXPECT_NEAR(found.grant[g], expected["grant"][g].get<double>(), 1e-7);
    }
  }
}

TEST(EqualizedOdds, OfAPerfectModelChangesNothing) {
  PostRows rows = random_rows(100, 2, 4);
  for (std::size_t i = 0; i < rows.score.size(); ++i) rows.score[i] = rows.favorable[i];
  const EqualizedOdds found = fit_equalized_odds(rows, rows.favorable);
  for (std::size_t g = 0; g < 2; ++g) {
    EXPECT_EQ(found.keep[g], 1);
    EXPECT_EQ(found.grant[g], 0);
  }
  EXPECT_TRUE(found.unique);
}

// Group 0: TPR 1, FPR 0. Group 1: TPR 1/2, FPR 1/2, where no mixing helps. Group 0 must
// give up everything that group 1 cannot have: TPR = FPR for both.
TEST(EqualizedOdds, IsHeldBackByTheWorseGroup) {
  const PostRows rows{{1, 0, 1, 0, 1, 0}, {1, 0, 1, 1, 0, 0}, {0, 0, 1, 1, 1, 1}};
  const EqualizedOdds found = fit_equalized_odds(rows, decide(rows));
  EXPECT_NEAR(found.keep[0], found.grant[0], 1e-12);  // TPR = FPR in group 0
  EXPECT_NEAR(found.objective, 0, 1e-12);
  EXPECT_FALSE(found.unique);
  // Of all these the one that changes fewest answers leaves group 1 alone.
  EXPECT_EQ(found.keep[1], 1);
  EXPECT_EQ(found.grant[1], 0);
  EXPECT_NEAR(found.keep[0], 0.5, 1e-12);
}

RC_GTEST_PROP(EqualizedOdds, OddsAreEqualAndNoPointOfAGridIsBetter, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 100000);
  const PostRows rows = random_rows(60, 2, seed, 0.1);
  const auto decided = decide(rows);
  for (std::int32_t g = 0; g < 2; ++g)
    for (int label = 0; label < 2; ++label)
      RC_PRE(!std::isnan(rate(rows, g, label, [](std::size_t) { return 1.0; })));
  const EqualizedOdds found = fit_equalized_odds(rows, decided);
  const auto yes = [&](std::size_t i) { return found.yes(decided[i] != 0, rows.group[i]); };
  double errors = 0;
  for (int label = 0; label < 2; ++label) {
    const double first = rate(rows, 0, label, yes), second = rate(rows, 1, label, yes);
    RC_ASSERT(std::abs(first - second) < 1e-9);
    errors += label == 0 ? first + second : 2 - first - second;
  }
  // Every pair of odds that both groups can have is a mixture: (t, f) = keep (tpr, fpr) +
  // grant (1 - tpr, 1 - fpr). Group 0's grid points, matched by group 1 exactly or not.
  const auto hit = [&](std::size_t i) { return decided[i] != 0 ? 1.0 : 0.0; };
  const double t0 = rate(rows, 0, 1, hit), f0 = rate(rows, 0, 0, hit);
  const double t1 = rate(rows, 1, 1, hit), f1 = rate(rows, 1, 0, hit);
  for (double keep = 0; keep <= 1; keep += 0.05)
    for (double grant = 0; grant <= 1; grant += 0.05) {
      const double t = keep * t0 + grant * (1 - t0), f = keep * f0 + grant * (1 - f0);
      const double det = t1 * (1 - f1) - f1 * (1 - t1);
      if (std::abs(det) < 1e-9) continue;
      const double keep1 = (t * (1 - f1) - f * (1 - t1)) / det;
      const double grant1 = (f * t1 - t * f1) / det;
      if (keep1 < 0 || keep1 > 1 || grant1 < 0 || grant1 > 1) continue;
      RC_ASSERT(errors <= 2 * (f + 1 - t) + 1e-9);
    }
}

TEST(EqualizedOdds, NeedsBothLabelsInBothGroups) {
  const PostRows rows{{.9, .1, .8, .2}, {1, 0, 1, 1}, {0, 0, 1, 1}};
  EXPECT_ERROR(fit_equalized_odds(rows, decide(rows)), ErrorKind::bad_data,
               "group 1 has no row with an unfavourable label");
  EXPECT_ERROR(fit_equalized_odds(rows, {1, 0}), ErrorKind::bad_shape, "decided");
}

TEST(CalibratedOdds, AgreesWithAif360) {
  for (const auto& c : baselines_golden()["postprocessing"])
    for (const char* cost : {"fpr", "fnr", "weighted"}) {
      const CalibratedOdds found = fit_calibrated_odds(post_rows(c), cost);
      const auto& expected = c["calibrated_odds"][cost];
      for (std::size_t g = 0; g < 2; ++g) {
        EXPECT_CLOSE(found.mix[g], expected["mix"][g].get<double>(), 1e-9) << cost;
        EXPECT_CLOSE(found.base_rate[g], expected["base_rate"][g].get<double>(), 1e-12);
      }
    }
}

// Group 0: base rate 1/2, mean score of negatives .2. Group 1: .4, base rate 1/2. Group 0
// is cheaper: (.4 - .2) / (.5 - .2) = 2/3 of it is mixed.
TEST(CalibratedOdds, EqualisesTheCost) {
  const PostRows rows{{.2, .9, .4, .7}, {0, 1, 0, 1}, {0, 0, 1, 1}};
  const CalibratedOdds found = fit_calibrated_odds(rows, "fpr");
  EXPECT_NEAR(found.mix[0], 2.0 / 3, 1e-12);
  EXPECT_EQ(found.mix[1], 0);
  EXPECT_NEAR(found.score(.2, 0), .4, 1e-12);  // the expected cost of group 0 is now .4
  EXPECT_EQ(found.score(.2, 1), .2);
  EXPECT_EQ(found.score(.2, -1), .2);
  EXPECT_NEAR(found.yes(.2, 0, .5), 2.0 / 3, 1e-12);  // the base rate is at the threshold
  EXPECT_NEAR(found.yes(.9, 0, .6), 1.0 / 3, 1e-12);
}

TEST(CalibratedOdds, RefusesAnUnknownCost) {
  EXPECT_ERROR(fit_calibrated_odds({}, "cost"), ErrorKind::bad_option,
               "fpr, fnr, weighted");
  const PostRows rows{{.2, .9}, {0, 1}, {0, 0}};
  EXPECT_ERROR(fit_calibrated_odds(rows), ErrorKind::bad_data, "group 1");
}

TEST(RejectOption, ChoosesTheCellThatAif360Chooses) {
  for (const auto& c : baselines_golden()["postprocessing"])
    for (const auto& r : c["reject_option"]) {
      const double bound = r["bound"];
      // Bounds that nothing meets: there -2 stands for an empty range, here one above 1.
      const RejectOption found =
          fit_reject_option(post_rows(c), {.thresholds = r["thresholds"],
                                           .margins = r["margins"],
                                           .metric = r["metric"],
                                           .lower = bound < 0 ? 1.5 : -bound,
                                           .upper = bound < 0 ? 2 : bound});
      EXPECT_EQ(found.threshold, r["threshold"].get<double>()) << r["metric"];
      EXPECT_EQ(found.margin, r["margin"].get<double>()) << r["metric"];
      EXPECT_EQ(found.satisfied, bound > 0);
      std::vector<int> labels;
      for (std::size_t i = 0; i < c["score"].size(); ++i)
        labels.push_back(found.yes(c["score"][i], c["group"][i]) ? 1 : 0);
      EXPECT_EQ(labels, r["labels"].get<std::vector<int>>());
    }
}

// Every cell counted row by row.
RC_GTEST_PROP(RejectOption, AgreesWithCountingRows, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 100000);
  PostRows rows = random_rows(40, 2, seed, 0.05);
  for (std::size_t i = 0; i < 5; ++i) rows.group[i] = -1;
  const RejectOptions options{.thresholds = 9, .margins = 5, .lower = -.2, .upper = .2};
  // A group or a label without rows is an error.
  bool has_group[2] = {false, false}, has_label[2] = {false, false};
  for (std::size_t i = 0; i < rows.score.size(); ++i)
    if (rows.group[i] >= 0) has_group[rows.group[i]] = has_label[rows.favorable[i]] = true;
  RC_PRE(has_group[0] && has_group[1] && has_label[0] && has_label[1]);
  const RejectOption found = fit_reject_option(rows, options);
  double best = -1;
  for (int i = 0; i < 9; ++i)
    for (int k = 0; k < 5; ++k) {
      const double t = .01 + .98 / 8 * i, m = std::min(t, 1 - t) / 4 * k;
      double tp = 0, fp = 0, positives = 0, negatives = 0, yes[2] = {0, 0}, n[2] = {0, 0};
      for (std::size_t r = 0; r < rows.score.size(); ++r) {
        const double s = rows.score[r];
        bool answer = s > t;
        if (rows.group[r] >= 0 && s > t - m && s <= t + m) answer = rows.group[r] == 0;
        (rows.favorable[r] ? positives : negatives) += 1;
        if (answer) (rows.favorable[r] ? tp : fp) += 1;
        if (rows.group[r] < 0) continue;
        n[rows.group[r]] += 1;
        yes[rows.group[r]] += answer;
      }
      const double metric = yes[0] / n[0] - yes[1] / n[1];
      if (std::abs(metric) <= .2)
        best = std::max(best, (tp / positives + 1 - fp / negatives) / 2);
    }
  RC_ASSERT(found.satisfied == (best >= 0));
  if (best >= 0) RC_ASSERT(std::abs(found.balanced_accuracy - best) < 1e-12);
}

TEST(RejectOption, RefusesWhatMakesNoSense) {
  const PostRows rows = random_rows(50, 2, 1);
  EXPECT_ERROR(fit_reject_option(rows, {.low = .9, .high = .1}), ErrorKind::bad_option,
               "low");
  EXPECT_ERROR(fit_reject_option(rows, {.metric = "parity"}), ErrorKind::bad_option,
               "statistical_parity, average_odds, equal_opportunity");
  PostRows one = rows;
  for (auto& g : one.group) g = 1;
  EXPECT_ERROR(fit_reject_option(one), ErrorKind::bad_data, "group 0");
}

// Brute force over all pairs of cuts: of those with the least distance to a common share.
TEST(GroupThresholds, ParityIsTheMostAccurateCommonShare) {
  const PostRows rows = random_rows(400, 2, 7, 0.02);
  const GroupThresholds found = fit_group_thresholds(rows, 2, "demographic_parity");
  double share[2] = {0, 0}, n[2] = {0, 0}, correct = 0;
  for (std::size_t i = 0; i < rows.score.size(); ++i) {
    const bool yes = found.yes(rows.score[i], rows.group[i]);
    n[rows.group[i]] += 1;
    share[rows.group[i]] += yes;
    correct += yes == (rows.favorable[i] != 0);
  }
  EXPECT_NEAR(correct / 400, found.accuracy, 1e-12);
  EXPECT_NEAR(share[0] / n[0], found.share, 0.03);  // as near as ties allow
  EXPECT_NEAR(share[1] / n[1], found.share, 0.03);
  // No common threshold with nearly equal shares is better than the best of all shares.
  for (double t = 0.005; t < 1; t += 0.02) {
    double yes[2] = {0, 0}, right = 0;
    for (std::size_t i = 0; i < rows.score.size(); ++i) {
      yes[rows.group[i]] += rows.score[i] >= t;
      right += (rows.score[i] >= t) == (rows.favorable[i] != 0);
    }
    if (std::abs(yes[0] / n[0] - yes[1] / n[1]) < 1e-3) {
      EXPECT_LE(right / 400, found.accuracy + 1e-12);
    }
  }
}

TEST(GroupThresholds, KnownAnswers) {
  // Group 0 is divided rightly at .5, group 1 at .25, group 2 has but one score.
  const PostRows rows{{.1, .4, .6, .9, .1, .2, .3, .4, .7, .7, .7},
                      {0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0},
                      {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2}};
  const GroupThresholds own = fit_group_thresholds(rows, 3, "accuracy", .5);
  EXPECT_NEAR(own.threshold[0], .5, 1e-12);
  EXPECT_NEAR(own.threshold[1], .25, 1e-12);
  EXPECT_NEAR(own.accuracy, 10.0 / 11, 1e-12);
  EXPECT_TRUE(std::isnan(own.share));
  EXPECT_TRUE(own.yes(.6, -1));
  EXPECT_FALSE(own.yes(.4, -1));
  const GroupThresholds opportunity = fit_group_thresholds(rows, 3, "equal_opportunity");
  EXPECT_NEAR(opportunity.accuracy, 10.0 / 11, 1e-12);  // all favourable labels are found
  for (std::size_t i = 0; i < 11; ++i)
    if (rows.favorable[i]) {
      EXPECT_TRUE(opportunity.yes(rows.score[i], rows.group[i]));
    }
  EXPECT_ERROR(fit_group_thresholds(rows, 3, "fairness"), ErrorKind::bad_option,
               "demographic_parity, equal_opportunity, accuracy");
  EXPECT_ERROR(fit_group_thresholds(rows, 4, "accuracy"), ErrorKind::bad_data, "group 3");
  EXPECT_ERROR(fit_group_thresholds(rows, 2, "accuracy"), ErrorKind::bad_option, "group 2");
}

}  // namespace
}  // namespace fmd
