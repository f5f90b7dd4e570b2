#include "repair/leaf_repair.h"

#include <gtest/gtest.h>

#include "fmd/metrics/head_scores.h"
#include "fmd/repair/candidates.h"
#include "fmd/unlearn/path.h"
#include "support/close.h"
#include "trees/leaf_problem.h"

namespace fmd {
namespace {

double gap(const HeadProblem& problem, const Vector& theta) {
  return unit_gaps(score_pairs(*problem.head, theta, problem.edit.pairs[0], 0.5, {}), "co")
      .mean();
}

RepairOptions by_path(Polish polish) {
  RepairOptions options;
  options.method = RepairMethod::path;
  options.polish = polish;
  options.max_accuracy_loss = 0.5;
  return options;
}

constexpr IntervalOptions kFew{.replicates = 60};

TEST(LeafRepair, OnlyTouchedLeavesChangeAndTheOthersAreHeld) {
  for (const Index outputs : {1, 3}) {
    test::LeafProblem small(outputs);
    small.add_folds(3);
    const HeadProblem& p = small.problem;
    const RepairChoice choice = choose_repair(p, by_path(Polish::off), kFew, {});
    ASSERT_GE(choice.chosen, 0);
    const Candidate& one = choice.candidates.all[static_cast<std::size_t>(choice.chosen)];
    ASSERT_EQ(one.theta.size(), p.theta.size());
    EXPECT_EQ(one.theta.tail(12), p.theta.tail(12));
    EXPECT_LT(gap(p, one.theta), 0.05 * gap(p, p.theta));
    EXPECT_EQ(choice.without_fold.size(), 3U);
    // The path is that of the whole problem in these directions.
    const Vector at = choice.candidates.on_path(p.theta, one.lambda);
    EXPECT_CLOSE(at, one.theta, 1e-12);
    for (const Candidate& other : make_candidates(p, by_path(Polish::off), {}).all)
      if (other.lambda == one.lambda) {
        EXPECT_CLOSE(other.theta, one.theta, 1e-9);
      }
  }
}

TEST(LeafRepair, ManyLeavesDescendToThePath) {
  for (const Index outputs : {1, 3}) {
    test::LeafProblem small(outputs);
    small.add_folds(3);
    const TouchedLeaves touched(small.problem, {});
    const HeadProblem& p = touched.problem();
    const FoldedChoice found = descend_leaves(p, by_path(Polish::off), kFew, {});
    const std::vector<Candidate>& all = found.choice.candidates.all;
    ASSERT_EQ(all.size(), 12U);
    const Path path = make_path(*p.head->as_linear(), p.edit.rows, p.edit.pairs, p.theta,
                                {.l2 = p.l2}, {});
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_CLOSE(all[i].theta, path.theta(all[i].lambda), 2e-3);
      ASSERT_EQ(found.without_fold[i].size(), 3U);
      EXPECT_NE(found.without_fold[i][0], all[i].theta);
    }
    ASSERT_GE(found.choice.chosen, 0);
    EXPECT_LT(gap(p, all[static_cast<std::size_t>(found.choice.chosen)].theta),
              0.05 * gap(p, p.theta));
    EXPECT_EQ(found.choice.without_fold,
              found.without_fold[static_cast<std::size_t>(found.choice.chosen)]);
  }
}

TEST(LeafRepair, APolishedChoiceChangesAllLeavesAndIsNamed) {
  test::LeafProblem small;
  small.add_folds(3);
  const HeadProblem& p = small.problem;
  const RepairChoice choice = choose_repair(p, by_path(Polish::on), kFew, {});
  ASSERT_GE(choice.chosen, 0);
  const Candidate& one = choice.candidates.all[static_cast<std::size_t>(choice.chosen)];
  EXPECT_EQ(one.kind, "path, polished");
  EXPECT_EQ(one.polish, 5);
  EXPECT_NE(one.theta.tail(12), p.theta.tail(12));
  EXPECT_LT(gap(p, one.theta), 0.05 * gap(p, p.theta));
  // Its name finds it again.
  RepairOptions again = by_path(Polish::on);
  again.at.lambda = one.lambda;
  again.at.polish = one.polish;
  again.at = parse_at(to_string(again.at));
  const RepairChoice same = choose_repair(p, again, kFew, {});
  ASSERT_GE(same.chosen, 0);
  EXPECT_EQ(same.candidates.all[static_cast<std::size_t>(same.chosen)].theta, one.theta);
  EXPECT_EQ(same.without_fold, choice.without_fold);
}

TEST(LeafRepair, PairsOfTrainingRowsTakePart) {
  test::LeafProblem small;
  small.add_folds(3);
  HeadProblem& p = small.problem;
  const RepairChoice alone = choose_repair(p, by_path(Polish::off), kFew, {});
  p.train = small.train.part();
  p.replaced = [&](std::span<const Index> rows, const Exec&) {
    EXPECT_EQ(std::ssize(rows), 900);
    return KeptPairs{small.train.part().pairs, nullptr};
  };
  RepairOptions options = by_path(Polish::off);
  options.hessian = HessianRows::data;
  const RepairChoice both = choose_repair(p, options, kFew, {});
  ASSERT_GE(both.chosen, 0);
  EXPECT_NE(both.candidates.path.g, alone.candidates.path.g);
}

TEST(LeafRepair, RulesOfOrderAreKept) {
  test::LeafProblem small;
  small.add_folds(3);
  HeadProblem& p = small.problem;
  for (Index tree = 0; tree < 6; ++tree)  // the original keeps them
    for (const Index pair : {0, 2})
      p.theta[4 * tree + pair] = p.theta[4 * tree + pair + 1] - 0.05;
  for (Index tree = 0; tree < 6; ++tree)
    for (const Index pair : {0, 2})
      p.ordered.emplace_back(4 * tree + pair, 4 * tree + pair + 1);
  const auto keeps = [&](const Vector& theta) {
    for (const auto& [first, second] : p.ordered)
      if (theta[first] > theta[second]) return false;
    return true;
  };
  p.keeps_rules = keeps;
  const RepairChoice choice = choose_repair(p, by_path(Polish::automatic), kFew, {});
  ASSERT_GE(choice.chosen, 0);
  const Candidate& one = choice.candidates.all[static_cast<std::size_t>(choice.chosen)];
  EXPECT_TRUE(one.keeps_rules);
  EXPECT_TRUE(keeps(one.theta));
  EXPECT_LT(gap(p, one.theta), 0.2 * gap(p, p.theta));
  for (const Candidate& other : choice.candidates.all)
    EXPECT_EQ(other.keeps_rules, keeps(other.theta));
}

TEST(LeafRepair, PolishOfAMethodWithoutAPathIsAnError) {
  test::LeafProblem small;
  RepairOptions options = by_path(Polish::on);
  options.method = RepairMethod::step;
  EXPECT_ERROR((void)choose_repair(small.problem, options, kFew, {}), ErrorKind::bad_option,
               "can be polished");
}

}  // namespace
}  // namespace fmd
