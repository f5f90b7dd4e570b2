#include "fmd/metrics/group.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

struct GroupProblem {
  Scored scored;
  std::vector<std::int32_t> code;

  void add(Index count, std::int32_t group, double p1, std::int32_t y) {
    const Index first = scored.p.rows();
    scored.p.conservativeResize(first + count, 2);
    for (Index i = first; i < first + count; ++i) {
      scored.p.row(i) << 1 - p1, p1;
      scored.y.push_back(y);
      scored.decision.push_back(p1 >= 0.5);
      code.push_back(group);
    }
  }
};

// Two groups: A has 40 of 60 positives chosen and 10 of 40 negatives; B 30 of 50, 5 of 50.
GroupProblem two_groups() {
  GroupProblem problem{
      .scored = {.p = Matrix(0, 2), .y = {}, .decision = {}, .favorable = 1}, .code = {}};
  problem.add(40, 0, 0.9, 1);
  problem.add(20, 0, 0.3, 1);
  problem.add(10, 0, 0.6, 0);
  problem.add(30, 0, 0.1, 0);
  problem.add(30, 1, 0.8, 1);
  problem.add(20, 1, 0.4, 1);
  problem.add(5, 1, 0.7, 0);
  problem.add(45, 1, 0.2, 0);
  return problem;
}

GroupProblem random_problem(Index rows, std::int32_t groups, std::uint64_t seed) {
  Rng rng(seed, "groups");
  GroupProblem problem{
      .scored = {.p = Matrix(rows, 2), .y = {}, .decision = {}, .favorable = 1},
      .code = {}};
  for (Index i = 0; i < rows; ++i) {
    const double p1 = rng.uniform();
    problem.scored.p.row(i) << 1 - p1, p1;
    problem.scored.y.push_back(static_cast<std::int32_t>(rng.below(3)) - 1);
    problem.scored.decision.push_back(p1 >= 0.5);
    problem.code.push_back(static_cast<std::int32_t>(rng.below(groups + 1)) - 1);
  }
  return problem;
}

GroupReport report_of(const GroupProblem& problem, const std::vector<std::string>& values,
                      const GroupOptions& options = {}, const Exec& exec = {}) {
  return group_report(problem.scored, "a", values, problem.code, options, exec);
}

bool same(const Interval& a, const Interval& b) {
  const auto equal = [](double x, double y) {
    return x == y || std::abs(x - y) < 1e-12 || (std::isnan(x) && std::isnan(y));
  };
  return equal(a.value, b.value) && equal(a.low, b.low) && equal(a.high, b.high);
}

TEST(GroupReport, RatesByHand) {
  const auto report = report_of(two_groups(), {"A", "B"});
  const Group& a = report.groups[0];
  EXPECT_EQ(a.rows, 100);
  EXPECT_EQ(a.positives, 60);
  EXPECT_EQ(a.negatives, 40);
  EXPECT_TRUE(same(a.selection_rate, wilson(50, 100, 0.95)));
  EXPECT_TRUE(same(a.tpr, wilson(40, 60, 0.95)));
  EXPECT_TRUE(same(a.fpr, wilson(10, 40, 0.95)));
  EXPECT_TRUE(same(a.accuracy, wilson(70, 100, 0.95)));
  EXPECT_CLOSE(a.mean_score, (40 * 0.9 + 20 * 0.3 + 10 * 0.6 + 30 * 0.1) / 100, 1e-12);
  EXPECT_TRUE(a.compared);
  EXPECT_EQ(report.reference, 0);
}

TEST(GroupReport, MeasuresByHand) {
  const auto report = report_of(two_groups(), {"A", "B"});
  const auto value = [&](const char* name) { return report.find(name)->value; };
  EXPECT_TRUE(same(value("demographic_parity"), newcombe(50, 100, 35, 100, 0.95)));
  EXPECT_TRUE(same(value("equal_opportunity"), newcombe(40, 60, 30, 50, 0.95)));
  // fpr .25 - .10 is wider than tpr .667 - .6; two comparisons.
  EXPECT_TRUE(same(value("equalized_odds"), newcombe(10, 40, 5, 50, 0.975)));
  EXPECT_EQ(report.find("equalized_odds")->widest.rate, "fpr");
  EXPECT_EQ(report.find("equalized_odds")->comparisons.size(), 2u);
  EXPECT_EQ(report.find("equalized_odds")->pairs, 2);
  // 75 of 100 in B are right: the difference A - B is negative and is turned.
  EXPECT_TRUE(same(value("accuracy_difference"), newcombe(75, 100, 70, 100, 0.95)));
  EXPECT_LT(report.find("accuracy_difference")->comparisons[0].difference.value, 0);
  EXPECT_TRUE(same(report.selection_ratio, rate_ratio(35, 100, 50, 100, 0.95)));
  EXPECT_EQ(report.worst_group, 0);
  EXPECT_TRUE(same(report.worst_group_accuracy, wilson(70, 100, 0.975)));  // of 2 groups
  EXPECT_EQ(report.find("nothing"), nullptr);
}

TEST(GroupReport, SoftMeasuresByHand) {
  const auto report = report_of(two_groups(), {"A", "B"});
  const double a = 0.51, b = (30 * 0.8 + 20 * 0.4 + 5 * 0.7 + 45 * 0.2) / 100;
  const Interval& parity = report.find("demographic_parity_soft")->value;
  EXPECT_CLOSE(parity.value, a - b, 1e-12);
  // Standard error of a difference of means: the interval is that of the normal, nearly.
  const double va = (40 * 0.81 + 20 * 0.09 + 10 * 0.36 + 30 * 0.01) / 100 - a * a;
  const double vb = (30 * 0.64 + 20 * 0.16 + 5 * 0.49 + 45 * 0.04) / 100 - b * b;
  const double error = std::sqrt((va + vb) / 100);
  EXPECT_NEAR(parity.low, a - b - 1.96 * error, 0.2 * error);
  EXPECT_NEAR(parity.high, a - b + 1.96 * error, 0.2 * error);
  EXPECT_CLOSE(report.find("equal_opportunity_soft")->value.value, 0.7 - 0.64, 1e-12);
}

TEST(GroupReport, SmallGroupsAreListedAndNotCompared) {
  GroupProblem problem = two_groups();
  problem.add(99, 2, 0.9, 1);
  problem.add(7, -1, 0.9, 1);
  const auto report = report_of(problem, {"A", "B", "C", "D"});
  EXPECT_EQ(report.groups.size(), 4u);
  EXPECT_FALSE(report.groups[2].compared);
  EXPECT_EQ(report.groups[2].rows, 99);
  EXPECT_EQ(report.groups[2].selection_rate.value, 1);
  EXPECT_FALSE(report.groups[3].selection_rate.defined());
  EXPECT_TRUE(std::isnan(report.groups[3].mean_score));
  EXPECT_EQ(report.find("demographic_parity")->comparisons.size(), 1u);
  EXPECT_CLOSE(report.find("demographic_parity")->widest.difference.value, 0.15, 1e-12);
  EXPECT_EQ(report.rows_without_group, 7);
}

TEST(GroupReport, ComparisonsAreAdjustedForTheirNumber) {
  GroupProblem problem = two_groups();
  problem.add(150, 2, 0.9, 1);
  problem.add(150, 2, 0.1, 0);
  const auto report = report_of(problem, {"A", "B", "C"});
  EXPECT_EQ(report.reference, 2);
  const GroupMeasure& parity = *report.find("demographic_parity");
  ASSERT_EQ(parity.comparisons.size(), 2u);
  EXPECT_EQ(parity.comparisons[1].first, 2);
  EXPECT_EQ(parity.comparisons[1].second, 1);
  EXPECT_TRUE(same(parity.comparisons[1].difference, newcombe(150, 300, 35, 100, 0.975)));
  // The widest of three pairs: the largest ends of any.
  const double adjusted = 1 - 0.05 / 3;
  EXPECT_EQ(parity.value.low, newcombe(150, 300, 35, 100, adjusted).low);
  EXPECT_EQ(parity.value.high, newcombe(50, 100, 35, 100, adjusted).high);
  EXPECT_EQ(parity.pairs, 3);
  EXPECT_CLOSE(parity.widest.difference.value, 0.15, 1e-12);
  const GroupMeasure& accuracy = *report.find("accuracy_difference");
  EXPECT_EQ(accuracy.widest.first, 2);
  EXPECT_EQ(accuracy.widest.second, 0);
  EXPECT_TRUE(same(accuracy.widest.difference, newcombe(300, 300, 70, 100, 1 - 0.05 / 3)));
}

TEST(GroupReport, AReferenceCanBeAskedFor) {
  const auto report = report_of(two_groups(), {"A", "B"}, {.reference = 1});
  EXPECT_EQ(report.find("demographic_parity")->comparisons[0].first, 1);
  EXPECT_CLOSE(report.find("demographic_parity")->comparisons[0].difference.value, -0.15,
               1e-12);
  EXPECT_CLOSE(report.find("demographic_parity")->value.value, 0.15, 1e-12);
}

TEST(GroupReport, UndefinedMeasuresSayWhy) {
  GroupProblem small = two_groups();
  const auto few = report_of(small, {"A", "B"}, {.min_rows = 101});
  EXPECT_EQ(few.find("demographic_parity")->reason,
            "fewer than two groups have >= 101 rows");
  EXPECT_FALSE(few.find("demographic_parity")->value.defined());
  EXPECT_FALSE(few.find("demographic_parity")->widest.difference.defined());
  EXPECT_FALSE(few.selection_ratio.defined());
  EXPECT_EQ(few.reference, -1);
  EXPECT_EQ(few.worst_group, -1);

  const auto labels = report_of(small, {"A", "B"}, {.min_label = 45});
  EXPECT_EQ(labels.find("equal_opportunity")->reason, "");
  EXPECT_EQ(labels.find("equalized_odds")->reason,
            "fewer than two groups have >= 100 rows and >= 45 unfavourable labels");

  small.add(99, 2, 0.9, 1);
  const auto reference = report_of(small, {"A", "B", "C"}, {.reference = 2});
  EXPECT_EQ(reference.find("demographic_parity")->reason,
            "the reference group C does not have >= 100 rows");
}

TEST(GroupReport, NoLabelsAndNoFavourableClass) {
  GroupProblem problem = two_groups();
  problem.scored.y.clear();
  const auto unlabelled = report_of(problem, {"A", "B"});
  EXPECT_TRUE(unlabelled.find("demographic_parity")->value.defined());
  EXPECT_TRUE(unlabelled.find("demographic_parity_soft")->value.defined());
  for (const char* name : {"equal_opportunity", "equalized_odds", "accuracy_difference",
                           "equal_opportunity_soft"})
    EXPECT_EQ(unlabelled.find(name)->reason, "no labels") << name;
  EXPECT_FALSE(unlabelled.groups[0].tpr.defined() ||
               unlabelled.worst_group_accuracy.defined());

  problem = two_groups();
  problem.scored.favorable = -1;
  const auto unnamed = report_of(problem, {"A", "B"});
  for (const char* name : {"demographic_parity", "equal_opportunity", "equalized_odds",
                           "demographic_parity_soft"})
    EXPECT_EQ(unnamed.find(name)->reason, "no favourable class") << name;
  EXPECT_TRUE(unnamed.find("accuracy_difference")->value.defined());
  EXPECT_FALSE(unnamed.groups[0].selection_rate.defined());
}

TEST(GroupReport, ManyPairsTakeTheEndsFromTheSpread) {
  const GroupProblem problem = random_problem(4000, 12, 5);
  std::vector<std::string> values;
  for (int g = 0; g < 12; ++g) values.emplace_back(1, static_cast<char>('a' + g));
  const auto report = report_of(problem, values, {.replicates = 500});
  const GroupMeasure& soft = *report.find("demographic_parity_soft");
  EXPECT_EQ(soft.pairs, 66);
  const Interval& widest = soft.widest.difference;
  // Both ends lie about z(1 - .05 / 66) = 3.37 standard errors away. They are the largest
  // of all pairs, so the two distances may differ a little.
  const double error = std::sqrt(2.0 / 12 / (4000.0 / 13));
  EXPECT_NEAR(widest.high - widest.value, 3.37 * error, 0.5 * error);
  EXPECT_NEAR(widest.value - widest.low, 3.37 * error, 0.5 * error);
}

RC_GTEST_PROP(GroupReport, TheOrderOfRowsDoesNotMatter, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const GroupProblem problem = random_problem(120, 3, seed);
  Rng rng(seed, "order");
  GroupProblem other = problem;
  const auto order = permutation(120, rng);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    other.scored.p.row(static_cast<Index>(i)) = problem.scored.p.row(order[i]);
    other.scored.y[i] = problem.scored.y[from];
    other.scored.decision[i] = problem.scored.decision[from];
    other.code[i] = problem.code[from];
  }
  const GroupOptions options{.replicates = 60, .min_rows = 5, .min_label = 2};
  const auto a = report_of(problem, {"A", "B", "C"}, options);
  const auto b = report_of(other, {"A", "B", "C"}, options);
  for (std::size_t m = 0; m < a.measures.size(); ++m) {
    RC_ASSERT(same(a.measures[m].value, b.measures[m].value));
    RC_ASSERT(same(a.measures[m].widest.difference, b.measures[m].widest.difference));
  }
  RC_ASSERT(same(a.selection_ratio, b.selection_ratio));
}

RC_GTEST_PROP(GroupReport, RenumberingTheGroupsPermutesThem, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const GroupProblem problem = random_problem(120, 3, seed);
  GroupProblem turned = problem;  // A B C -> C A B
  for (auto& c : turned.code) c = c < 0 ? c : (c + 1) % 3;
  const GroupOptions first{.replicates = 60, .min_rows = 5, .min_label = 2, .reference = 0};
  GroupOptions second = first;
  second.reference = 1;
  const auto a = report_of(problem, {"A", "B", "C"}, first);
  const auto b = report_of(turned, {"C", "A", "B"}, second);
  for (std::size_t g = 0; g < 3; ++g) {
    RC_ASSERT(a.groups[g].value == b.groups[(g + 1) % 3].value);
    RC_ASSERT(same(a.groups[g].tpr, b.groups[(g + 1) % 3].tpr));
  }
  for (std::size_t m = 0; m < a.measures.size(); ++m) {
    RC_LOG() << a.measures[m].name << " " << a.measures[m].widest.difference.value << " "
             << a.measures[m].widest.difference.low << " "
             << a.measures[m].widest.difference.high << " "
             << b.measures[m].widest.difference.value << " "
             << b.measures[m].widest.difference.low << " "
             << b.measures[m].widest.difference.high << "\n";
    RC_ASSERT(same(a.measures[m].value, b.measures[m].value) &&
              same(a.measures[m].widest.difference, b.measures[m].widest.difference));
  }
  RC_ASSERT(same(a.selection_ratio, b.selection_ratio));
}

TEST(GroupReport, ThreadsDoNotChangeABit) {
  const GroupProblem problem = random_problem(3000, 2, 9);
  const auto alone = report_of(problem, {"A", "B"}, {.replicates = 100});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const auto report =
        report_of(problem, {"A", "B"}, {.replicates = 100}, {.pool = &pool});
    EXPECT_EQ(report.find("demographic_parity_soft")->value.low,
              alone.find("demographic_parity_soft")->value.low);
    EXPECT_EQ(report.find("equal_opportunity_soft")->value.high,
              alone.find("equal_opportunity_soft")->value.high);
  }
}

TEST(GroupReport, WrongUseIsNamed) {
  GroupProblem problem = two_groups();
  EXPECT_ERROR(report_of(problem, {"A", "B"}, {.reference = 2}), ErrorKind::bad_option,
               "reference is 2");
  EXPECT_ERROR(report_of(problem, {"A"}), ErrorKind::bad_shape, "the group 1, there are 1");
  problem.code.pop_back();
  EXPECT_ERROR(report_of(problem, {"A", "B"}), ErrorKind::bad_shape, "code has 199");
}

}  // namespace
}  // namespace fmd
