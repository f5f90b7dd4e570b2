#include "repair/group_targets.h"

#include <gtest/gtest.h>

#include "fmd/metrics/head_scores.h"
#include "fmd/repair/choice.h"
#include "repair/problem.h"
#include "support/close.h"

namespace fmd {
namespace {

// Favourable decisions of group 1 minus those of group 0, among rows with that label (-1:
// all).
double gap(const HeadProblem& problem, const Vector& theta, int label) {
  const HeadPart& part = problem.holdout;
  const Scored scored = score_rows(*problem.head, theta, part.rows, 0.5, 1, {});
  double yes[2] = {}, all[2] = {};
  for (std::size_t i = 0; i < scored.y.size(); ++i) {
    if (label >= 0 && scored.y[i] != label) continue;
    const std::int32_t group = part.attributes[0].code[i];
    all[group] += 1;
    yes[group] += scored.decision[i];
  }
  return std::abs(yes[1] / all[1] - yes[0] / all[0]);
}

double worst_gap(const HeadProblem& problem, const Vector& theta,
                 const std::string& measure) {
  if (measure == "demographic_parity") return gap(problem, theta, -1);
  const double favorable = gap(problem, theta, 1);
  return measure == "equal_opportunity" ? favorable
                                        : std::max(favorable, gap(problem, theta, 0));
}

double flip_gap(const HeadProblem& problem, const Vector& theta) {
  return unit_gaps(score_pairs(*problem.head, theta, problem.holdout.pairs[0], 0.5, {}),
                   "co")
      .mean();
}

TEST(GroupTargets, EachGapIsReachedWithoutRaisingTheFlipGap) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  for (const char* measure :
       {"demographic_parity", "equal_opportunity", "equalized_odds"}) {
    RepairOptions options;
    options.target = parse_limit(std::string(measure) + "=.15");
    const RepairChoice choice = choose_repair(problem, options, {.replicates = 200}, {});
    ASSERT_GE(choice.chosen, 0) << measure;
    const Candidate& one = choice.candidates.all[static_cast<std::size_t>(choice.chosen)];
    EXPECT_GT(worst_gap(problem, problem.theta, measure), 0.15) << measure;
    EXPECT_LE(worst_gap(problem, one.theta, measure), 0.15) << measure;
    EXPECT_NEAR(one.bias[0].value, worst_gap(problem, one.theta, measure), 1e-12);
    EXPECT_LT(flip_gap(problem, one.theta), flip_gap(problem, problem.theta)) << measure;
    EXPECT_TRUE(one.keeps_flips);
    for (const Candidate& other : choice.candidates.all)
      if (other.target == Verdict::pass && other.lowers_bias && other.keeps_flips) {
        EXPECT_LE(other.accuracy.value, one.accuracy.value) << measure;
      }
  }
}

TEST(GroupTargets, TheAttributeMayPayOnlyWhereThatIsAllowed) {
  const test::SmallProblem small;
  RepairOptions options;
  options.target = parse_limit("demographic_parity=.15");
  Candidates made = make_candidates(small.problem, options, {});
  for (const Candidate& one : made.all) EXPECT_GT(one.lambda, 0);
  options.may_use_attribute = true;
  const Candidates more = make_candidates(small.problem, options, {});
  EXPECT_GT(more.all.size(), made.all.size());
  EXPECT_EQ(more.all[0].lambda, 0);
}

TEST(GroupTargets, WhatTheyCannotDoIsAnError) {
  test::SmallProblem small;
  RepairOptions options;
  options.target = parse_limit("demographic_parity=.1");
  options.method = RepairMethod::path;
  EXPECT_ERROR((void)make_candidates(small.problem, options, {}), ErrorKind::bad_option,
               "solve for a target on a group gap");
  options.method = RepairMethod::solve;
  small.problem.favorable = -1;
  EXPECT_ERROR((void)make_candidates(small.problem, options, {}), ErrorKind::bad_option,
               "favourable class");
}

}  // namespace
}  // namespace fmd
