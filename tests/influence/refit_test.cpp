#include "fmd/influence/refit.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "fmd/influence/ranking.h"
#include "influence/influence_setting.h"
#include "support/close.h"

namespace fmd {
namespace {

using Setting = test::InfluenceSetting;

TEST(Refit, PredictedNewtonAndRefittedAgreeForFewRows) {
  const Setting s(3000, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  const auto result = influence(s.head, s.train.rows(), s.theta, {target}, s.options(), {});
  const std::vector<double> change(result.change.data(), result.change.data() + 3000);
  const auto rows = most_harmful(change, 30);
  const auto check = check_removal(s.head, s.train.rows(), s.theta, target, change, rows,
                                   {.l2 = s.l2}, {});
  EXPECT_EQ(check.rows, 30);
  EXPECT_TRUE(check.converged);
  EXPECT_FALSE(check.capped);
  EXPECT_LT(check.refitted, 0);
  EXPECT_NEAR(check.predicted, check.refitted, 0.15 * -check.refitted);
  EXPECT_NEAR(check.newton, check.refitted, 0.02 * -check.refitted);
}

TEST(Refit, AHeadAwayFromItsOptimumIsCheckedFromTheOptimum) {
  const Setting s(3000, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  const std::vector<double> change(3000, 0.0);
  const std::vector<Index> rows = {1, 20, 300};
  const auto there = check_removal(s.head, s.train.rows(), s.theta, target, change, rows,
                                   {.l2 = s.l2, .relative_gradient = 1e-12}, {});
  const auto away =
      check_removal(s.head, s.train.rows(), Vector(1.4 * s.theta), target, change, rows,
                    {.l2 = s.l2, .relative_gradient = 1e-12}, {});
  EXPECT_CLOSE(away.refitted, there.refitted, 1e-6);
  EXPECT_CLOSE(away.newton, there.newton, 1e-6);
}

TEST(Refit, APredictionLargerThanTheGapIsCapped) {
  const Setting s(300, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  std::vector<double> change(300, -1.0);
  const auto check = check_removal(s.head, s.train.rows(), s.theta, target, change,
                                   std::vector<Index>{1, 2}, {.l2 = s.l2}, {});
  EXPECT_TRUE(check.capped);
  EXPECT_EQ(check.predicted, -gap_of(target, s.head, s.theta, false, {}).value);
}

TEST(Refit, RoundsRemoveWhatTheyPredict) {
  const Setting s(3000, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  const auto removal =
      remove_in_rounds(s.head, s.train.rows(), s.theta, target,
                       {.count = 300, .curvature = s.options().curvature}, {});
  EXPECT_GT(removal.rounds.size(), 1u);
  EXPECT_LT(removal.after, removal.before);
  double sum = 0;
  for (const RemovalCheck& round : removal.rounds) sum += round.refitted;
  EXPECT_CLOSE(sum, removal.after - removal.before, 1e-9);
  // Going in rounds stays honest where one shot overshoots.
  for (std::size_t r = 0; r + 1 < removal.rounds.size(); ++r)
    EXPECT_LE(removal.rounds[r].refitted, 0.5 * removal.rounds[r].predicted);
  std::vector<Index> sorted = removal.entries;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

}  // namespace
}  // namespace fmd
