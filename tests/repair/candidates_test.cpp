#include "fmd/repair/candidates.h"

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/metrics/head_scores.h"
#include "fmd/model/mlp_head.h"
#include "fmd/repair/choice.h"
#include "fmd/unlearn/newton.h"
#include "repair/problem.h"
#include "support/close.h"

namespace fmd {
namespace {

double gap(const HeadProblem& problem, const Vector& theta) {
  return unit_gaps(score_pairs(*problem.head, theta, problem.holdout.pairs[0], 0.5, {}),
                   "co")
      .mean();
}

RepairOptions with_method(RepairMethod method) {
  RepairOptions options;
  options.method = method;
  options.max_accuracy_loss = 0.1;
  return options;
}

TEST(RepairCandidates, EveryMethodOfTheTableLowersTheGapWithoutATable) {
  const test::SmallProblem small;
  for (const RepairMethodInfo& info : repair_methods()) {
    const std::string name = to_string(info.method);
    const RepairOptions options = with_method(info.method);
    Candidates made = make_candidates(small.problem, options, {});
    ASSERT_FALSE(made.all.empty()) << name;
    measure_candidates(small.problem, options, {.replicates = 100}, {}, made.all);
    const int chosen = choose(made.all, options);
    ASSERT_GE(chosen, 0) << name;
    const Candidate& one = made.all[static_cast<std::size_t>(chosen)];
    EXPECT_EQ(one.kind, name);
    EXPECT_LT(gap(small.problem, one.theta), gap(small.problem, small.problem.theta));
    EXPECT_NEAR(one.bias[0].value, gap(small.problem, one.theta), 1e-12) << name;
    ThreadPool pool(2);
    const Candidates again = make_candidates(small.problem, options, {.pool = &pool});
    for (std::size_t k = 0; k < made.all.size(); ++k)
      EXPECT_EQ(again.all[k].theta, made.all[k].theta) << name;
  }
}

TEST(RepairCandidates, AnAveragedColumnHasNoGapAtAll) {
  const test::SmallProblem small;
  const Candidates made =
      make_candidates(small.problem, with_method(RepairMethod::average_column), {});
  ASSERT_EQ(made.all.size(), 1U);
  EXPECT_EQ(gap(small.problem, made.all[0].theta), 0);
}

// The candidates of step and remove are the paper's update of fmd/unlearn/newton.h.
TEST(RepairCandidates, NewtonCandidatesAreThePapersUpdate) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  const auto inverse = make_inverse_hessian(*problem.head, problem.train->rows,
                                            problem.theta, {.l2 = problem.l2}, {});
  for (const Candidate& one :
       make_candidates(problem, with_method(RepairMethod::step), {}).all)
    EXPECT_CLOSE(one.theta,
                 unlearn_pairs(*problem.head, problem.theta, problem.edit.pairs, *inverse,
                               {.step_scale = one.s}, {})
                     .theta,
                 1e-9);
}

TEST(RepairCandidates, SeveralStepsWithANewHessianDifferFromOne) {
  const test::SmallProblem small;
  RepairOptions options = with_method(RepairMethod::step);
  options.newton.scale = parse_scale("0.002");
  const Vector one = make_candidates(small.problem, options, {}).all[0].theta;
  options.newton.refresh = 8;
  const Vector eight = make_candidates(small.problem, options, {}).all[0].theta;
  EXPECT_NE(one, eight);
  EXPECT_LT((one - eight).norm(), (one - small.problem.theta).norm());
}

TEST(RepairCandidates, WithoutAnAnchorTheLabelsHoldTheAnswers) {
  const test::SmallProblem small;
  RepairOptions options = with_method(RepairMethod::solve);
  options.anchor = 0;
  options.fit = 1;
  Candidates made = make_candidates(small.problem, options, {});
  measure_candidates(small.problem, options, {.replicates = 100}, {}, made.all);
  const int chosen = choose(made.all, options);
  ASSERT_GE(chosen, 0);
  const Candidate& one = made.all[static_cast<std::size_t>(chosen)];
  EXPECT_LT(gap(small.problem, one.theta), 0.1 * gap(small.problem, small.problem.theta));
}

TEST(RepairCandidates, ASmallGapIsLeftAloneWhereAskedFor) {
  const test::SmallProblem small;
  RepairOptions options = with_method(RepairMethod::solve);
  const double before = gap(small.problem, small.problem.theta);
  options.only_if_over = 1.01 * before;
  const RepairChoice none = choose_repair(small.problem, options, {.replicates = 100}, {});
  EXPECT_EQ(none.chosen, -1);
  EXPECT_TRUE(none.candidates.all.empty());
  ASSERT_EQ(none.small_bias.size(), 1U);
  EXPECT_NEAR(none.small_bias[0].value, before, 1e-12);
  options.only_if_over = 0.99 * before;
  const RepairChoice some = choose_repair(small.problem, options, {.replicates = 100}, {});
  EXPECT_GE(some.chosen, 0);
  EXPECT_TRUE(some.small_bias.empty());
}

TEST(RepairCandidates, TheFavourableRateIsKeptWhereAskedFor) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  RepairOptions options = with_method(RepairMethod::solve);
  options.keep_rate = true;
  options.points = 4;
  const auto rate = [&](const Vector& theta) {
    const Scored scored = score_rows(*problem.head, theta, problem.edit.rows, 0.5, 1, {});
    return std::count(scored.decision.begin(), scored.decision.end(), 1);
  };
  for (const Candidate& one : make_candidates(problem, options, {}).all)
    EXPECT_EQ(rate(one.theta), rate(problem.theta));
}

TEST(RepairCandidates, WhatAHeadDoesNotHaveIsAnError) {
  test::SmallProblem small;
  small.problem.attribute_features.reset();
  EXPECT_ERROR(
      (void)make_candidates(small.problem, with_method(RepairMethod::average_column), {}),
      ErrorKind::unsupported, "reads the columns itself");
  RepairOptions options;
  options.gaps = {parse_limit("demographic_parity_soft:age=1")};
  EXPECT_ERROR((void)make_candidates(small.problem, options, {}), ErrorKind::bad_option,
               "age is not an attribute");
  const MlpHead network({3, 2, 1}, Activation::relu);
  small.problem.head = &network;
  small.problem.theta = Vector::Ones(network.parameters());
  EXPECT_ERROR((void)make_candidates(small.problem, with_method(RepairMethod::path), {}),
               ErrorKind::unsupported, "method path does not work");
}

}  // namespace
}  // namespace fmd
