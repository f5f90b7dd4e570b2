#include "fmd/repair/choice.h"

#include <limits>

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

const std::vector<ChoiceFigures> kFour = {{0.8, 0.3}, {0.9, 0.2}, {0.9, 0.1}, {0.7, 0.1}};

TEST(Choice, TheFirstStepWithACandidateDecides) {
  const RuleStep none{{false, false, false, false}, {Prefer::accuracy}};
  const RuleStep some{{true, false, false, true}, {Prefer::accuracy}};
  const RuleStep all{{true, true, true, true}, {Prefer::less_bias}};
  const RuleStep rule[] = {none, some, all};
  EXPECT_EQ(choose(kFour, rule), 0);
  EXPECT_EQ(choose(kFour, std::span<const RuleStep>(rule, 1)), -1);
}

TEST(Choice, TiesGoByTheNextEntryAndThenByPosition) {
  const std::vector<bool> all(4, true);
  const auto by = [&](std::vector<Prefer> order) {
    const RuleStep rule[] = {{all, std::move(order)}};
    return choose(kFour, rule);
  };
  EXPECT_EQ(by({Prefer::accuracy}), 1);
  EXPECT_EQ(by({Prefer::accuracy, Prefer::less_bias}), 2);
  EXPECT_EQ(by({Prefer::less_bias}), 2);
  EXPECT_EQ(by({Prefer::less_bias, Prefer::accuracy}), 2);
}

TEST(Choice, AnUnknownBiasIsNeverBetter) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector<ChoiceFigures> figures = {{0.9, kNever}, {0.8, kNever}, {0.1, 0.5}};
  const RuleStep rule[] = {{{true, true, true}, {Prefer::less_bias, Prefer::accuracy}}};
  EXPECT_EQ(choose(figures, rule), 2);
  EXPECT_EQ(choose(std::span(figures).first(2), rule), 0);
}

Candidate candidate(double lambda, double accuracy, double change, double bias, bool lowers,
                    Verdict target = Verdict::none) {
  Candidate one;
  one.lambda = lambda;
  one.accuracy.value = accuracy;
  one.accuracy_change.value = change;
  one.bias = {{bias, bias, bias}};
  one.lowers_bias = lowers;
  one.target = target;
  one.most_loss = -change;
  return one;
}

TEST(Choice, ARepairKeepsItsBudgetOrItsTarget) {
  const std::vector<Candidate> all = {
      candidate(1, 0.90, 0.000, 0.10, true, Verdict::fail),
      candidate(2, 0.89, -0.008, 0.05, true, Verdict::pass),
      candidate(3, 0.80, -0.100, 0.00, true, Verdict::pass),
      candidate(4, 0.90, 0.000, 0.01, false, Verdict::pass)};
  RepairOptions options;
  EXPECT_EQ(choose(all, options), 1) << "the last one does not lower the bias for sure";
  options.max_accuracy_loss = 0.2;
  EXPECT_EQ(choose(all, options), 2);
  options.target = parse_limit("co=.06");
  EXPECT_EQ(choose(all, options), 1);
  options.at.lambda = 3;
  EXPECT_EQ(choose(all, options), 2);
  options.at.lambda = 9;
  options.best_effort = true;
  EXPECT_EQ(choose(all, options), -1) << "a candidate that is asked for must be there";
  options = {};
  options.max_accuracy_loss = 0;
  EXPECT_EQ(choose({all[1], all[2]}, options), -1);
  options.best_effort = true;
  EXPECT_EQ(choose({all[1], all[2]}, options), 1);
}

TEST(Choice, ABudgetIsProvenBeforeItIsOnlyEstimated) {
  std::vector<Candidate> all = {candidate(1, 0.90, 0.000, 0.10, true),
                                candidate(2, 0.90, -0.005, 0.05, true),
                                candidate(3, 0.89, -0.012, 0.01, true)};
  all[0].most_loss = 0.006;
  all[1].most_loss = 0.016;
  all[2].most_loss = 0.030;
  RepairOptions options;
  EXPECT_EQ(choose(all, options), 0);
  EXPECT_EQ(budget_of(all[0], options), Budget::proven);
  all[0].most_loss = 0.011;
  EXPECT_EQ(choose(all, options), 1)
      << "none is proven: the least biased within the budget";
  EXPECT_EQ(budget_of(all[1], options), Budget::not_proven);
  EXPECT_EQ(budget_of(all[2], options), Budget::exceeded);
  options.strict = true;
  EXPECT_EQ(choose(all, options), -1);
  options.best_effort = true;
  EXPECT_EQ(choose(all, options), 2);
  options.target = parse_limit("co=.2");
  EXPECT_EQ(budget_of(all[0], options), Budget::none);
}

TEST(Choice, MatchedAndOtherAttributesAreNotMixed) {
  HeadProblem problem;
  problem.repaired = {{0, PairKind::match}, {1, PairKind::flip}};
  EXPECT_ERROR((void)repairs_matched(problem, {}), ErrorKind::bad_option,
               "some of the attributes are matched and some are not");
  problem.repaired = {{0, PairKind::match}};
  EXPECT_TRUE(repairs_matched(problem, {}));
  RepairOptions options;
  options.method = RepairMethod::step;
  EXPECT_ERROR((void)repairs_matched(problem, options), ErrorKind::bad_option,
               "solve on matched pairs");
}

}  // namespace
}  // namespace fmd
