#include "repro/stage.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/passes.h"
#include "fmd/repro/reproduce.h"
#include "repro/cache.h"
#include "repro/edits.h"
#include "repro/specs.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd::repro {
namespace {

std::shared_ptr<const Features> normal_features(Index rows, Index cols,
                                                std::uint64_t seed) {
  Rng rng(seed, "features");
  std::vector<float> values;
  for (Index i = 0; i < rows * cols; ++i)
    values.push_back(static_cast<float>(rng.normal()));
  return make_dense(std::move(values), rows, cols);
}

std::vector<std::int32_t> labels(Index rows, std::int32_t classes) {
  std::vector<std::int32_t> y;
  for (Index i = 0; i < rows; ++i) y.push_back(static_cast<std::int32_t>(i) % classes);
  return y;
}

Side make_side(Index rows, std::uint64_t seed, std::int32_t classes = 3) {
  return {{normal_features(rows, 4, seed), labels(rows, classes)},
          {normal_features(rows, 4, seed + 1), normal_features(2 * rows, 4, seed + 2),
           labels(rows, classes)},
          {}};
}

Stage make_stage(Index outputs) {
  Stage stage;
  stage.head = std::make_shared<LinearHead>(4, outputs);
  stage.problem.theta = Vector::Zero(stage.head->parameters());
  Rng rng(1, "theta");
  for (double& t : stage.problem.theta) t = rng.normal();
  const std::int32_t classes = outputs == 1 ? 2 : static_cast<std::int32_t>(outputs);
  stage.edit = make_side(60, 10, classes);
  stage.holdout = make_side(40, 20, classes);
  stage.report = make_side(50, 30, classes);
  stage.train = {normal_features(200, 4, 40), labels(200, classes)};
  connect(stage);
  return stage;
}

TEST(Stage, ScoresAreWhatTheyAreCalled) {
  const Stage stage = make_stage(3);
  const Side& side = stage.report;
  const Matrix p = all_probabilities(*stage.head, side.rows.rows(), stage.problem.theta,
                                     {}),
               pc = all_probabilities(*stage.head, side.pairs.c.rows(), stage.problem.theta,
                                      {}),
               pb = all_probabilities(*stage.head, side.pairs.cbar.rows(),
                                      stage.problem.theta, {});
  double right = 0, gap = 0;
  for (Index i = 0; i < 50; ++i) {
    Index top = 0;
    p.row(i).maxCoeff(&top);
    right += top == i % 3 ? 1 : 0;
    for (Index k = 0; k < 2; ++k)  // two counterparts each
      gap += std::abs(pc(i, i % 3) - pb(2 * i + k, i % 3)) / 2;
  }
  const Score found = score(*stage.head, stage.problem.theta, side, {});
  EXPECT_DOUBLE_EQ(found.accuracy, right / 50);
  EXPECT_NEAR(found.bias, gap / 50, 1e-7);
  EXPECT_TRUE(std::isnan(found.parity));
}

TEST(Stage, GroupGapsAreDifferencesOfShares) {
  Stage stage = make_stage(1);
  stage.report.group.assign(50, 0);
  for (std::size_t i = 25; i < 50; ++i) stage.report.group[i] = 1;
  const Matrix p =
      all_probabilities(*stage.head, stage.report.rows.rows(), stage.problem.theta, {});
  double share[2] = {0, 0}, hits[2] = {0, 0}, positive[2] = {0, 0};
  for (Index i = 0; i < 50; ++i) {
    const int g = i < 25 ? 0 : 1;
    const double yes = p(i, 1) >= 0.5 ? 1 : 0;
    share[g] += yes / 25;
    if (i % 2 == 1) {
      positive[g] += 1;
      hits[g] += yes;
    }
  }
  const Score found = score(*stage.head, stage.problem.theta, stage.report, {});
  EXPECT_NEAR(found.parity, std::abs(share[0] - share[1]), 1e-12);
  EXPECT_NEAR(found.opportunity, std::abs(hits[0] / positive[0] - hits[1] / positive[1]),
              1e-12);
}

TEST(Stage, TheRuleTakesTheMostAccurateWithinTheTarget) {
  const Stage stage = make_stage(3);
  std::vector<EditCandidate> candidates;
  for (const double scale : {2.0, 1.0, 0.1, 0.01})
    candidates.push_back({scale * stage.problem.theta, ""});
  candidates.push_back({Vector::Constant(15, std::nan("")), "not a number"});
  std::vector<Score> scores;
  for (int i = 0; i < 4; ++i)
    scores.push_back(score(*stage.head, candidates[static_cast<std::size_t>(i)].theta,
                           stage.holdout, {}));
  ASSERT_GT(scores[1].bias, scores[2].bias);
  // Equal accuracies (scaling keeps decisions): the first one that is within.
  const double between = (scores[1].bias + scores[2].bias) / 2;
  EXPECT_EQ(choose_edit(stage, candidates, {between, false}, {}), 2U);
  EXPECT_EQ(choose_edit(stage, candidates, {1, false}, {}), 0U);
  // None is within: the most accurate, or the least biased that keeps its accuracy.
  EXPECT_EQ(choose_edit(stage, candidates, {-1, false}, {}), 0U);
  EXPECT_EQ(choose_edit(stage, candidates, {-1, true}, {}), 3U);
  // No bias at all at the price of all knowledge is no candidate.
  candidates.insert(candidates.begin(), {Vector::Zero(15), "ruined"});
  const double ruined = score(*stage.head, candidates[0].theta, stage.holdout, {}).accuracy;
  ASSERT_LT(ruined, scores[1].accuracy - 0.01);
  EXPECT_NE(choose_edit(stage, candidates, {1e-9, false}, {}), 0U);
  EXPECT_NE(choose_edit(stage, candidates, {1e-9, true}, {}), 0U);
}

TEST(Stage, BothSidesAreTheFactualRowsAndThenTheOthers) {
  const Side side = make_side(7, 3);
  const OwnedRows both = both_sides(side.pairs.sets.front());
  ASSERT_EQ(both.X->rows(), 28);
  EXPECT_EQ(both.y[0], 0);
  EXPECT_EQ(both.y[1], 0);  // the second counterpart of row 0
  EXPECT_EQ(both.y[14 + 13], 6 % 3);
  Scratch a, b;
  const FeatureBlock all = both.X->block(0, a), other = side.pairs.cbar.X->block(0, b);
  for (Index j = 0; j < 14 * 4; ++j) EXPECT_EQ(all.dense[14 * 4 + j], other.dense[j]);
}

TEST(Edits, InterceptsAreAtTheOptimumAndWeightsStay) {
  for (const Index outputs : {Index{1}, Index{3}}) {
    const Stage stage = make_stage(outputs);
    const Outcome outcome = intercepts(stage, {});
    const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
    const Vector gradient =
        objective(*stage.head, both.rows(), outcome.theta, 0, 0, {}).gradient;
    for (Index k = 0; k < outputs; ++k) {
      EXPECT_LT(std::abs(gradient[k * 5 + 4]), 1e-7);
      EXPECT_EQ(outcome.theta.segment(k * 5, 4), stage.problem.theta.segment(k * 5, 4));
    }
  }
}

TEST(Edits, AStepAsPrintedIsNTimesTheStepOfRemoval) {
  const Stage stage = make_stage(3);
  const TimedDirection found = pairs_direction(stage, false, {});
  const Vector& theta = stage.problem.theta;
  EXPECT_EQ(found.rows, 200);
  const Outcome printed = take_step(stage, found, true, {}, {});
  EXPECT_EQ(printed.theta, theta + found.direction.value);
  const Outcome chosen = take_step(stage, found, false, {}, {});
  const double scale = (chosen.theta - theta).norm() / found.direction.value.norm() * 200;
  EXPECT_NEAR(std::log2(scale), std::round(std::log2(scale)), 1e-9);
  const Score kept = score(*stage.head, chosen.theta, stage.holdout, {});
  for (const double power : {-6, 0, 7}) {
    const Vector other =
        found.direction.step(theta, std::ldexp(1.0 / 200, static_cast<int>(power)));
    EXPECT_GE(kept.accuracy, score(*stage.head, other, stage.holdout, {}).accuracy);
  }
}

TEST(Reproduce, MeansOverSeedsHaveStudentsInterval) {
  const SeedMean three = seed_mean({1, 2, 3});
  EXPECT_EQ(three.mean, 2);
  EXPECT_NEAR(three.high - 2, 4.303 / std::sqrt(3), 1e-9);
  EXPECT_NEAR(2 - three.low, 4.303 / std::sqrt(3), 1e-9);
  EXPECT_TRUE(std::isnan(seed_mean({5}).low));
  EXPECT_TRUE(std::isnan(seed_mean({}).mean));
}

TEST(Reproduce, FinishedUnitsAreKeptAndDamagedCachesCountAsEmpty) {
  const test::Folder folder;
  const auto path = folder / "toy.cache.json";
  const UnitResult unit{
      .rows = {{"a", {{"accuracy", 90.5}, {"bias", std::nan("")}}, "s = 1", true}},
      .facts = {{"l2", 0.25}},
      .pictures = "{\"x\":[1]}"};
  UnitCache(path, false).add("key", unit);
  const UnitCache again(path, false);
  const UnitResult* found = again.find("key");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->rows[0].value.at("accuracy"), 90.5);
  EXPECT_TRUE(std::isnan(found->rows[0].value.at("bias")));
  EXPECT_TRUE(found->rows[0].labels);
  EXPECT_EQ(found->facts, unit.facts);
  EXPECT_EQ(found->pictures, unit.pictures);
  EXPECT_EQ(again.find("other"), nullptr);
  EXPECT_EQ(UnitCache(path, true).find("key"), nullptr);
  for (const char* text : {"", "[]", "{\"schema\":1,\"units\":{\"key\":{}}}", "{\"sch"}) {
    test::write_text(path, text);
    EXPECT_EQ(UnitCache(path, false).find("key"), nullptr) << text;
  }
}

TEST(Reproduce, AKeyNamesAllThatAUnitDependsOn) {
  Spec spec = specs().front();
  const Unit unit{&spec, &spec.cases[0], {}, 1, false};
  Unit other = unit;
  other.seed = 2;
  EXPECT_NE(unit_key(unit), unit_key(other));
  other = unit;
  other.quick = true;
  EXPECT_NE(unit_key(unit), unit_key(other));
  Spec changed = spec;
  changed.text += "# changed";
  other = unit;
  other.spec = &changed;
  EXPECT_NE(unit_key(unit), unit_key(other));
}

}  // namespace
}  // namespace fmd::repro
