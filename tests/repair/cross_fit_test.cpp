#include "repair/cross_fit.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "fmd/metrics/head_scores.h"
#include "fmd/model/mlp_head.h"
#include "fmd/repair/choice.h"
#include "repair/problem.h"
#include "support/close.h"

namespace fmd {
namespace {

HeadProblem with_folds(const HeadProblem& problem, Index count = 5) {
  HeadProblem folded = problem;
  folded.holdout = folded.edit;
  folded.folds.resize(static_cast<std::size_t>(count));
  for (Index row = 0; row < folded.edit.rows.size(); ++row)
    folded.folds[static_cast<std::size_t>(row % count)].push_back(row);
  return folded;
}

std::vector<std::size_t> all_of(const Candidates& candidates) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < candidates.all.size(); ++i) positions.push_back(i);
  return positions;
}

TEST(CrossFit, AllPairsOfARowFallOnItsSide) {
  const test::SmallProblem small;
  HeadProblem problem = with_folds(small.problem);
  PairSet& pairs = problem.edit.pairs[0];  // every row twice
  std::vector<Index> twice;
  PairSet two = pairs;
  two.unit.clear();
  for (Index i = 0; i < pairs.size(); ++i)
    for (int k = 0; k < 2; ++k) twice.push_back(i);
  two.unit = twice;
  two.weight.assign(twice.size(), 0.5F);
  two.c.subset = two.cbar.subset = twice;
  pairs = two;
  for (std::size_t k = 0; k < 5; ++k) {
    const FoldProblem one(problem, k);
    EXPECT_EQ(one.problem.edit.rows.size(), 640);
    EXPECT_EQ(one.problem.holdout.rows.size(), 160);
    EXPECT_EQ(one.problem.edit.pairs[0].size(), 1280);
    for (Index i = 0; i < one.problem.edit.pairs[0].size(); ++i)
      EXPECT_NE(one.problem.edit.pairs[0].c.row(i) % 5, static_cast<Index>(k));
    for (Index i = 0; i < one.problem.holdout.pairs[0].size(); ++i)
      EXPECT_EQ(one.problem.holdout.pairs[0].c.row(i) % 5, static_cast<Index>(k));
  }
}

// A fold's sums are subtracted; no pass over the other rows is made. The result is what
// that pass gives.
TEST(CrossFit, AFoldsParametersAreThoseOfTheOtherRowsAlone) {
  const test::SmallProblem small;
  for (const bool train : {true, false}) {
    HeadProblem problem = with_folds(small.problem);
    if (!train) problem.train.reset();
    for (const RepairMethod method : {RepairMethod::path, RepairMethod::solve,
                                      RepairMethod::step, RepairMethod::average_column}) {
      RepairOptions options;
      options.method = method;
      options.points = 6;
      const Candidates whole = make_candidates(problem, options, {});
      CrossFit fit(problem, options, whole, {});
      fit.fit(all_of(whole), {});
      const FoldProblem other(problem, 2);
      for (std::size_t i = 0; i < whole.all.size(); ++i) {
        RepairOptions one = options;
        if (method == RepairMethod::path || method == RepairMethod::solve)
          one.at.lambda = whole.all[i].lambda;
        if (method == RepairMethod::step) one.at.s = whole.all[i].s;
        const Candidates alone = make_candidates(other.problem, one, {});
        const auto same =
            std::find_if(alone.all.begin(), alone.all.end(), [&](const Candidate& c) {
              return (!one.at.lambda || c.lambda == *one.at.lambda) &&
                     (!one.at.s || c.s == *one.at.s);
            });
        ASSERT_NE(same, alone.all.end());
        EXPECT_CLOSE(fit.theta(2, i), same->theta, 1e-6) << to_string(method) << " " << i;
        EXPECT_GT((fit.theta(2, i) - fit.theta(3, i)).norm(), 0);
      }
    }
  }
}

// The figures of a candidate are those of each fold's rows under what came out without
// them, and its parameters are those of all rows.
TEST(CrossFit, FiguresComeFromRowsThatDidNotFit) {
  const test::SmallProblem small;
  const HeadProblem problem = with_folds(small.problem);
  RepairOptions options;
  options.points = 5;
  options.max_accuracy_loss = 0.2;
  const RepairChoice choice = choose_repair(problem, options, {.replicates = 100}, {});
  ASSERT_GE(choice.chosen, 0);
  ASSERT_EQ(choice.without_fold.size(), 5U);
  const Candidate& chosen = choice.candidates.all[static_cast<std::size_t>(choice.chosen)];
  double right = 0, gap = 0;
  for (std::size_t k = 0; k < 5; ++k) {
    const FoldProblem fold(problem, k);
    const Vector& theta = choice.without_fold[k];
    const Scored scored =
        score_rows(*problem.head, theta, fold.problem.holdout.rows, 0.5, 1, {});
    for (std::size_t i = 0; i < scored.y.size(); ++i)
      right += scored.decision[i] == scored.y[i] ? 1 : 0;
    gap +=
        unit_gaps(score_pairs(*problem.head, theta, fold.problem.holdout.pairs[0], 0.5, {}),
                  "co")
            .sum();
  }
  EXPECT_NEAR(chosen.accuracy.value, right / 800, 1e-12);
  EXPECT_NEAR(chosen.bias[0].value, gap / 800, 1e-12);
  EXPECT_EQ(chosen.theta, make_candidates(problem, options, {})
                              .all[static_cast<std::size_t>(choice.chosen)]
                              .theta);
}

TEST(CrossFit, ThreadsDoNotChangeABit) {
  const test::SmallProblem small;
  const HeadProblem problem = with_folds(small.problem);
  const auto run = [&](const Exec& exec) {
    return choose_repair(problem, {}, {.replicates = 100}, exec);
  };
  ThreadPool pool(2);
  const RepairChoice one = run({}), two = run({.pool = &pool});
  ASSERT_EQ(one.chosen, two.chosen);
  for (std::size_t k = 0; k < one.without_fold.size(); ++k)
    EXPECT_EQ(one.without_fold[k], two.without_fold[k]);
}

TEST(CrossFit, ANetworkIsCrossFittedOnEightLambdasAndAroundTheChoice) {
  test::SmallProblem small;
  const MlpHead network({3, 4, 1}, Activation::relu);
  HeadProblem problem = with_folds(small.problem);
  problem.head = &network;
  Rng rng(5, "network");
  problem.theta.resize(network.parameters());
  for (double& value : problem.theta) value = rng.normal();
  RepairOptions options;
  options.max_accuracy_loss = 0.3;
  options.points = 30;
  const RepairChoice choice = choose_repair(problem, options, {.replicates = 100}, {});
  ASSERT_GE(choice.chosen, 0);
  EXPECT_GT(choice.candidates.all.size(), 8U);
  EXPECT_LE(choice.candidates.all.size(), 16U);
  std::set<double> lambdas;
  for (const Candidate& one : choice.candidates.all) {
    EXPECT_TRUE(one.accuracy.defined());
    lambdas.insert(one.lambda);
  }
  EXPECT_EQ(lambdas.size(), choice.candidates.all.size());
}

}  // namespace
}  // namespace fmd
