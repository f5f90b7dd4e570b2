#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/intersectional.h"
#include "fmd/metrics/score_curve.h"
#include "support/close.h"

namespace fmd {
namespace {

struct FigureProblem {
  Scored scored;
  std::vector<std::int32_t> code;
};

FigureProblem problem(Index rows, Index classes, std::uint64_t seed) {
  Rng rng(seed, "figures");
  FigureProblem p;
  p.scored.p.resize(rows, classes);
  p.scored.favorable = static_cast<int>(classes) - 1;
  for (Index i = 0; i < rows; ++i) {
    const auto g = static_cast<std::int32_t>(rng.below(3));
    const auto y = static_cast<std::int32_t>(rng.below(classes));
    for (Index k = 0; k < classes; ++k)
      p.scored.p(i, k) = rng.uniform() + (k == y ? 0.4 + 0.2 * g : 0.01);
    p.scored.p.row(i) /= p.scored.p.row(i).sum();
    p.scored.y.push_back(y);
    p.code.push_back(g);
  }
  p.scored.decision = decide(p.scored.p, 0.5);
  return p;
}

GroupReport report(const FigureProblem& p,
                   const GroupOptions& options = {.replicates = 200}) {
  return group_report(p.scored, "a", {"x", "y", "z"}, p.code, options, {});
}

const Figure& rate(const GroupReport& r, std::size_t group, const std::string& name) {
  for (const Figure& figure : r.groups[group].rates)
    if (figure.name == name) return figure;
  throw std::runtime_error("no rate " + name);
}

Confusion confusion(const FigureProblem& p, std::int32_t group) {
  Confusion c;
  for (std::size_t i = 0; i < p.code.size(); ++i) {
    if (p.code[i] != group) continue;
    const bool y = p.scored.y[i] == p.scored.favorable,
               d = p.scored.decision[i] == p.scored.favorable;
    (y ? (d ? c.tp : c.fn) : (d ? c.fp : c.tn)) += 1;
  }
  return c;
}

TEST(GroupFigures, RatesAreThoseOfTheTableWithIntervals) {
  const FigureProblem p = problem(3000, 2, 1);
  const GroupReport r = report(p);
  for (std::size_t g = 0; g < 3; ++g) {
    const Confusion c = confusion(p, static_cast<std::int32_t>(g));
    for (const RateInfo& info : group_rates()) {
      const Interval& found = rate(r, g, info.name).value;
      EXPECT_CLOSE(found.value, info.value(c), 1e-13) << info.name;
      EXPECT_LT(found.low, found.value) << info.name;
      EXPECT_GT(found.high, found.value) << info.name;
      if (info.share == nullptr) continue;
      EXPECT_EQ(found.low, share_interval(info.share(c), 0.95).low) << info.name;
    }
  }
}

TEST(GroupFigures, CriteriaCompareWithTheReference) {
  const FigureProblem p = problem(3000, 2, 2);
  const GroupReport r = report(p, {.replicates = 200, .reference = 1});
  const Confusion reference = confusion(p, 1);
  const double adjusted = adjusted_confidence(0.95, 2);
  for (const CriterionInfo& info : group_criteria()) {
    const GroupMeasure& m = *r.find(info.name);
    ASSERT_EQ(m.reason, "") << info.name;
    ASSERT_EQ(m.comparisons.size(), 2u);
    double farthest = 0;
    for (const Comparison& c : m.comparisons) {
      const Confusion u = confusion(p, c.second);
      EXPECT_CLOSE(c.difference.value, info.value(u, reference), 1e-12) << info.name;
      EXPECT_FALSE(std::isnan(c.difference.low)) << info.name;
      const Interval closed = criterion_interval(info, u, reference, adjusted);
      if (!std::isnan(closed.low)) {
        EXPECT_CLOSE(c.difference.low, closed.low, 1e-12);
      }
      const double x = c.difference.value;
      farthest = std::max(farthest, info.ratio ? std::abs(std::log(x)) : std::abs(x));
    }
    const double x = m.value.value;
    EXPECT_EQ(info.ratio ? std::abs(std::log(x)) : std::abs(x), farthest) << info.name;
    EXPECT_EQ(limit_sense(m.name), info.ratio ? LimitSense::ratio : LimitSense::at_most);
  }
}

TEST(GroupFigures, EveryNameIsThereOnceAndDefined) {
  const GroupReport r = report(problem(3000, 2, 3));
  ASSERT_EQ(r.measures.size(), group_measure_names().size());
  for (std::size_t m = 0; m < r.measures.size(); ++m) {
    EXPECT_EQ(r.measures[m].name, group_measure_names()[m]);
    EXPECT_TRUE(r.measures[m].value.defined()) << r.measures[m].name;
    // No interval of these two covers as often as it says: they have none.
    const std::string& name = r.measures[m].name;
    const bool bare = name == "bias_amplification" || name == "between_group_entropy";
    EXPECT_EQ(std::isnan(r.measures[m].value.low), bare) << name;
    EXPECT_EQ(std::isnan(r.measures[m].value.high), bare) << name;
  }
}

TEST(GroupFigures, ScoresOfRowsAndOfHistogramsAgree) {
  const FigureProblem p = problem(4000, 2, 4);
  ScoredBlock block = block_of(p.scored);
  block.code = {p.code};
  TallyPlan plan{.classes = 2, .favorable = 1, .values = {3}};
  const Index first[] = {0};
  const auto of = [&] {
    return group_report(tally(plan, block, {}), first, "a", {"x", "y", "z"},
                        {.replicates = 100}, {});
  };
  const GroupReport rows = of();
  plan.keep_rows = 0;
  const GroupReport bins = of();
  std::vector<double> score;
  std::vector<bool> positive;
  for (std::size_t i = 0; i < p.code.size(); ++i) {
    if (p.code[i] != 0) continue;
    score.push_back(p.scored.p(static_cast<Index>(i), 1));
    positive.push_back(p.scored.y[i] == 1);
  }
  const ScoreRuns runs = score_runs(score, positive);
  for (const ScoreMetricInfo& metric : score_metrics()) {
    const double exact = metric.value(runs);
    EXPECT_CLOSE(rate(rows, 0, metric.name).value.value, exact, 1e-12) << metric.name;
    EXPECT_NEAR(rate(bins, 0, metric.name).value.value, exact, 0.004) << metric.name;
  }
  EXPECT_CLOSE(rate(rows, 0, "auc").value.value, auc(score, positive), 1e-12);
  // Hanley and McNeil's standard error of an area.
  const double area = auc(score, positive), q1 = area / (2 - area),
               q2 = 2 * area * area / (1 + area);
  double n1 = 0;
  for (const bool y : positive) n1 += y;
  const double n0 = static_cast<double>(positive.size()) - n1;
  const double error = std::sqrt(
      (area * (1 - area) + (n1 - 1) * (q1 - area * area) + (n0 - 1) * (q2 - area * area)) /
      (n1 * n0));
  const Interval& found = rate(rows, 0, "auc").value;
  EXPECT_NEAR((found.high - found.low) / 2, 1.96 * error, 0.5 * error);
}

TEST(GroupFigures, ManyClassesHaveAccuraciesOfTheClassAndRatesOfTheFavourableOne) {
  FigureProblem p = problem(3000, 4, 5);
  const GroupReport named = report(p);
  for (std::size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(rate(named, g, "accuracy").value.value, named.groups[g].accuracy.value);
    EXPECT_EQ(rate(named, g, "tpr").value.value, named.groups[g].tpr.value);
    EXPECT_CLOSE(rate(named, g, "error_rate").value.value,
                 1 - named.groups[g].accuracy.value, 1e-12);
  }
  EXPECT_TRUE(named.find("error_rate_difference")->value.defined());
  p.scored.favorable = -1;
  const GroupReport unnamed = report(p);
  EXPECT_EQ(rate(unnamed, 0, "accuracy").value.value, named.groups[0].accuracy.value);
  EXPECT_EQ(rate(unnamed, 0, "ppv").reason, "no favourable class");
  EXPECT_EQ(rate(unnamed, 0, "auc").reason, "no favourable class");
  for (const char* name :
       {"statistical_parity_difference", "disparate_impact", "f1_difference",
        "differential_fairness", "theil_index", "abroca"})
    EXPECT_EQ(unnamed.find(name)->reason, "no favourable class") << name;
  for (const char* name : {"error_rate_difference", "accuracy_ratio", "ad",
                           "worst_cell_accuracy", "unbiased_accuracy", "aligned_gap"})
    EXPECT_TRUE(unnamed.find(name)->value.defined()) << name;
}

TEST(GroupFigures, AccuracyOfCellsByHand) {
  const FigureProblem p = problem(3000, 3, 6);
  const GroupReport r = report(p);
  double worst = 1, sum = 0;
  for (std::int32_t y = 0; y < 3; ++y) {
    for (std::int32_t g = 0; g < 3; ++g) {
      double right = 0, rows = 0;
      for (std::size_t i = 0; i < p.code.size(); ++i) {
        if (p.code[i] != g || p.scored.y[i] != y) continue;
        ++rows;
        right += p.scored.decision[i] == y;
      }
      worst = std::min(worst, right / rows);
      sum += right / rows / 9;
    }
  }
  EXPECT_CLOSE(r.find("worst_cell_accuracy")->value.value, worst, 1e-12);
  EXPECT_CLOSE(r.find("unbiased_accuracy")->value.value, sum, 1e-12);
  EXPECT_EQ(limit_sense("unbiased_accuracy"), LimitSense::at_least);
}

TEST(GroupFigures, WithoutLabelsOnlySelectionIsTold) {
  FigureProblem p = problem(1000, 2, 7);
  p.scored.y.clear();
  const GroupReport r = report(p);
  EXPECT_TRUE(rate(r, 0, "selection_rate").value.defined());
  EXPECT_EQ(rate(r, 0, "tpr").reason, "no labels");
  EXPECT_TRUE(r.find("disparate_impact")->value.defined());
  EXPECT_TRUE(r.find("differential_fairness")->value.defined());
  for (const char* name : {"predictive_parity_difference", "treatment_equality",
                           "bias_amplification", "unbiased_accuracy", "auc_difference"})
    EXPECT_EQ(r.find(name)->reason, "no labels") << name;
}

TEST(GroupFigures, DifferentialFairnessByHand) {
  const FigureProblem p = problem(3000, 2, 8);
  std::vector<std::vector<double>> counts;
  for (const std::int32_t g : {0, 1, 2}) {
    const Confusion c = confusion(p, g);
    counts.push_back({c.rows() - c.selected(), c.selected()});
  }
  const GroupMeasure m = *report(p).find("differential_fairness");
  EXPECT_CLOSE(m.value.value, differential_fairness(counts).epsilon, 1e-12);
  EXPECT_LT(m.value.low, m.value.value);
  EXPECT_GT(m.value.high, m.value.value);
  EXPECT_NE(m.about.find(" - "), std::string::npos);
}

}  // namespace
}  // namespace fmd
