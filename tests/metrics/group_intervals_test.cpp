// BCa intervals and permutation tests as a report has them, against the rows themselves.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/intersectional.h"
#include "fmd/metrics/score_curve.h"
#include "fmd/metrics/testing.h"
#include "support/close.h"

namespace fmd {
namespace {

constexpr Index kReplicates = 400;
const std::vector<std::string> kNames = {"x", "y", "z"};

struct IntervalProblem {
  Scored scored;
  std::vector<std::int32_t> code;
};

// Three groups of unlike size whose scores lean upwards with the group.
IntervalProblem problem(Index rows, std::uint64_t seed) {
  Rng rng(seed, "intervals");
  IntervalProblem p;
  p.scored.p.resize(rows, 2);
  p.scored.favorable = 1;
  for (Index i = 0; i < rows; ++i) {
    const auto g = static_cast<std::int32_t>(i % 7 == 0 ? 2 : i % 3 == 0 ? 1 : 0);
    const auto y = static_cast<std::int32_t>(rng.below(4) == 0);
    const double z = rng.normal() + 0.9 * y + 0.3 * g - 0.8;
    p.scored.p(i, 1) = 1 / (1 + std::exp(-z));
    p.scored.p(i, 0) = 1 - p.scored.p(i, 1);
    p.scored.y.push_back(y);
    p.code.push_back(g);
  }
  p.scored.decision = decide(p.scored.p, 0.5);
  return p;
}

GroupReport report(const IntervalProblem& p, const GroupOptions& options) {
  return group_report(p.scored, "a", kNames, p.code, options, {});
}

const GroupOptions kBca{.replicates = kReplicates, .intervals = Bootstrap::bca};

std::vector<Index> counts_of(const IntervalProblem& p, std::int32_t group) {
  std::vector<Index> c(6, 0);  // tp, fp, tn, fn
  for (std::size_t i = 0; i < p.code.size(); ++i)
    if (p.code[i] == group)
      ++c[p.scored.y[i] == 1 ? (p.scored.decision[i] == 1 ? 0u : 3u)
                             : (p.scored.decision[i] == 1 ? 1u : 2u)];
  return c;
}

Confusion confusion(const std::vector<Index>& c) {
  const auto real = [&](std::size_t k) { return static_cast<double>(c[k]); };
  return {real(0), real(1), real(2), real(3)};
}

using Figure3 = std::function<double(const std::vector<Confusion>&)>;

// BCa of a figure of some groups, the jackknife row by row: every row is left out.
Interval by_rows(const IntervalProblem& p, const std::vector<std::int32_t>& groups,
                 const Figure3& figure, double confidence) {
  std::vector<std::vector<Index>> counts;
  std::vector<CountTables> drawn;
  for (const std::int32_t g : groups) {
    counts.push_back(counts_of(p, g));
    Exec own;
    own.seed = Rng(own.seed, "table of " + kNames[static_cast<std::size_t>(g)]).next();
    drawn.push_back(bootstrap_counts(counts.back(), kReplicates, own));
  }
  const auto value = [&](const std::vector<std::vector<Index>>& tables) {
    std::vector<Confusion> all;
    for (const auto& table : tables) all.push_back(confusion(table));
    return figure(all);
  };
  double squares = 0, cubes = 0;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    std::vector<double> without;
    for (std::size_t i = 0; i < p.code.size(); ++i) {
      if (p.code[i] != groups[k]) continue;
      IntervalProblem one;
      one.scored.y = {p.scored.y[i]};
      one.scored.decision = {p.scored.decision[i]};
      one.code = {p.code[i]};
      auto tables = counts;
      const std::vector<Index> row = counts_of(one, groups[k]);
      for (std::size_t c = 0; c < row.size(); ++c) tables[k][c] -= row[c];
      without.push_back(value(tables));
    }
    const auto n = static_cast<double>(without.size());
    const double mean = std::accumulate(without.begin(), without.end(), 0.0) / n;
    for (const double x : without) {
      const double u = (n - 1) * (mean - x) / n;
      squares += u * u;
      cubes += u * u * u;
    }
  }
  std::vector<double> replicates;
  for (Index r = 0; r < kReplicates; ++r) {
    std::vector<std::vector<Index>> tables;
    for (const CountTables& t : drawn) tables.emplace_back(t[r].begin(), t[r].end());
    replicates.push_back(value(tables));
  }
  return bca(value(counts), replicates, cubes / (6 * std::pow(squares, 1.5)), confidence);
}

void expect_same(const Interval& found, const Interval& expected, const std::string& what) {
  ASSERT_FALSE(std::isnan(expected.low)) << what;
  EXPECT_EQ(found.kind, IntervalKind::bca) << what;
  EXPECT_CLOSE(found.value, expected.value, 1e-12) << what;
  EXPECT_CLOSE(found.low, expected.low, 1e-9) << what;
  EXPECT_CLOSE(found.high, expected.high, 1e-9) << what;
}

TEST(GroupIntervals, BcaLeavesOutEveryRow) {
  const IntervalProblem p = problem(1400, 1);
  const GroupReport r = report(p, kBca);
  ASSERT_EQ(r.reference, 0);
  for (std::size_t g = 0; g < 3; ++g) {
    for (const Figure& rate : r.groups[g].rates) {
      const RateInfo* info = find_rate(rate.name);
      if (info == nullptr || rate.name == "fn_fp_ratio") continue;
      if (info->share != nullptr) {
        EXPECT_EQ(rate.value.kind, IntervalKind::wilson) << rate.name;
        continue;
      }
      expect_same(rate.value,
                  by_rows(
                      p, {static_cast<std::int32_t>(g)},
                      [&](const auto& t) { return info->value(t[0]); }, .95),
                  rate.name);
    }
  }
  const double adjusted = adjusted_confidence(.95, 2);
  for (const char* name :
       {"average_odds_difference", "f1_difference", "mcc_difference", "dca"}) {
    const CriterionInfo& info = *find_criterion(name);
    for (const Comparison& c : r.find(name)->comparisons)
      expect_same(c.difference,
                  by_rows(
                      p, {c.second, c.first},
                      [&](const auto& t) { return info.value(t[0], t[1]); }, adjusted),
                  name);
  }
}

TEST(GroupIntervals, SaySoWhereTheyAreNotBootstrapped) {
  const IntervalProblem p = problem(1400, 2);
  for (const Bootstrap kind : {Bootstrap::percentile, Bootstrap::bca}) {
    const GroupReport r = report(p, {.replicates = kReplicates, .intervals = kind});
    const IntervalKind resampled =
        kind == Bootstrap::bca ? IntervalKind::bca : IntervalKind::percentile;
    EXPECT_EQ(r.groups[0].tpr.kind, IntervalKind::wilson);
    EXPECT_EQ(r.find("demographic_parity")->value.kind, IntervalKind::newcombe);
    EXPECT_EQ(r.find("disparate_impact")->value.kind, IntervalKind::rate_ratio);
    EXPECT_EQ(r.selection_ratio.kind, IntervalKind::rate_ratio);
    EXPECT_EQ(r.find("average_odds_difference")->value.kind, resampled);
    EXPECT_EQ(r.find("demographic_parity_soft")->comparisons[0].difference.kind, resampled);
    EXPECT_EQ(r.find("differential_fairness")->value.kind, IntervalKind::newcombe);
    for (const char* name : {"equalized_odds_difference", "average_abs_odds_difference",
                             "conditional_use_accuracy_difference"})
      EXPECT_EQ(r.find(name)->value.kind, IntervalKind::newcombe) << name;
    // A sample shows more of these sizes than there is: no resampling tells by how much.
    EXPECT_TRUE(std::isnan(r.find("between_group_entropy")->value.low));
    EXPECT_TRUE(std::isnan(r.find("bias_amplification")->value.low));
  }
}

// Mean scores of two groups: own draws, own jackknife.
TEST(GroupIntervals, BcaOfMeanScoresAgreesWithResampledRows) {
  const IntervalProblem p = problem(700, 3);
  const GroupReport r =
      report(p, {.replicates = 8000, .by_name = false, .intervals = Bootstrap::bca});
  for (const bool positives : {false, true}) {
    std::vector<std::vector<double>> scores(3);
    for (std::size_t i = 0; i < p.code.size(); ++i)
      if (!positives || p.scored.y[i] == 1)
        scores[static_cast<std::size_t>(p.code[i])].push_back(
            p.scored.p(static_cast<Index>(i), 1));
    const GroupMeasure& m =
        *r.find(positives ? "equal_opportunity_soft" : "demographic_parity_soft");
    for (const Comparison& c : m.comparisons) {
      const auto& a = scores[static_cast<std::size_t>(c.first)];
      const auto& b = scores[static_cast<std::size_t>(c.second)];
      Rng rng(9, "by hand");
      const auto mean = [](const std::vector<double>& x) {
        return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
      };
      const auto drawn = [&](const std::vector<double>& x) {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
          sum += x[static_cast<std::size_t>(rng.below(std::ssize(x)))];
        return sum / static_cast<double>(x.size());
      };
      std::vector<double> replicates;
      for (int k = 0; k < 8000; ++k) replicates.push_back(drawn(a) - drawn(b));
      double squares = 0, cubes = 0;
      for (const auto* x : {&a, &b})
        for (const double s : *x) {
          const double u =
              (x == &a ? 1 : -1) * (s - mean(*x)) / static_cast<double>(x->size());
          squares += u * u;
          cubes += u * u * u;
        }
      const Interval expected =
          bca(mean(a) - mean(b), replicates, mean_acceleration(squares, cubes),
              adjusted_confidence(.95, 2));
      const double width = expected.high - expected.low;
      EXPECT_CLOSE(c.difference.value, expected.value, 1e-9);
      // Each end of 8,000 draws is off by some hundredths of the width.
      EXPECT_NEAR(c.difference.low, expected.low, 0.07 * width);
      EXPECT_NEAR(c.difference.high, expected.high, 0.07 * width);
    }
  }
}

// Gaps with a long tail, where percentiles and BCa differ.
PairScores skewed_pairs(Index rows) {
  Rng rng(4, "pairs");
  PairScores s;
  s.p.resize(rows, 2);
  s.pbar.resize(rows, 2);
  for (Index i = 0; i < rows; ++i) {
    const double gap = 0.45 * std::pow(rng.uniform(), 6), p = 0.5;
    s.p.row(i) << 1 - p, p;
    s.pbar.row(i) << 1 - p - gap, p + gap;
    s.unit.push_back(i);
    s.from.push_back(static_cast<std::int32_t>(i % 2));
    s.to.push_back(static_cast<std::int32_t>(1 - i % 2));
    s.y.push_back(0);
  }
  s.decision = decide(s.p, 0.6);
  s.decision_bar = decide(s.pbar, 0.6);
  return s;
}

TEST(FlipIntervals, BcaOfAFlipGapIsThatOfItsMean) {
  const PairScores pairs = skewed_pairs(300);
  const FlipOptions plain{.replicates = 20000};
  FlipOptions corrected = plain;
  corrected.intervals = Bootstrap::bca;
  const FlipReport found = flip_report(pairs, 2, corrected, {});
  const Interval expected = bca_mean(unit_gaps(pairs, "co"), .95, 20000, {});
  const Interval percentiles = flip_report(pairs, 2, plain, {}).co;
  const double width = expected.high - expected.low;
  EXPECT_EQ(found.co.kind, IntervalKind::bca);
  EXPECT_EQ(percentiles.kind, IntervalKind::percentile);
  EXPECT_NEAR(found.co.low, expected.low, 0.04 * width);
  EXPECT_NEAR(found.co.high, expected.high, 0.04 * width);
  EXPECT_GT(found.co.high, percentiles.high);  // the tail is above
  EXPECT_EQ(found.cells[0].co.kind, IntervalKind::bca);
  // The order of the rows changes nothing.
  PairScores turned = pairs;
  for (Index i = 0; i < 300; ++i) {
    turned.pbar.row(i) = pairs.pbar.row(299 - i);
    turned.from[static_cast<std::size_t>(i)] =
        pairs.from[static_cast<std::size_t>(299 - i)];
    turned.to[static_cast<std::size_t>(i)] = pairs.to[static_cast<std::size_t>(299 - i)];
  }
  turned.decision_bar = decide(turned.pbar, 0.6);
  EXPECT_EQ(flip_report(turned, 2, corrected, {}).co.low, found.co.low);
}

TEST(FlipIntervals, BcaFromBinsIsNearThatOfThePairs) {
  const PairScores pairs = skewed_pairs(3000);
  FlipPlan small{.values = 2};
  small.keep_units = 100;  // so that nothing is kept
  FlipTally binned(small), kept({.values = 2});
  binned.add(pairs);
  kept.add(pairs);
  const FlipOptions options{.replicates = 6000, .intervals = Bootstrap::bca};
  const Interval a = flip_report(binned, options, {}).co,
                 b = flip_report(kept, options, {}).co;
  EXPECT_EQ(a.kind, IntervalKind::bca);
  EXPECT_NEAR(a.low, b.low, 0.07 * (b.high - b.low));
  EXPECT_NEAR(a.high, b.high, 0.07 * (b.high - b.low));
}

TEST(GroupPermutations, AreThoseOfEachCriterionAlone) {
  const IntervalProblem p = problem(1400, 5);
  const GroupReport r = report(p, {.replicates = 50, .permutations = 300});
  const Confusion reference = confusion(counts_of(p, 0));
  for (const CriterionInfo& info : group_criteria()) {
    const GroupMeasure& m = *r.find(info.name);
    std::vector<double> p_values;
    for (const Comparison& c : m.comparisons) {
      Exec own;
      own.seed =
          Rng(own.seed, "permutations of " + kNames[static_cast<std::size_t>(c.second)])
              .next();
      const double expected = permutation_test(info, confusion(counts_of(p, c.second)),
                                               reference, natural_exchange(info), 300, own)
                                  .p_value;
      EXPECT_EQ(c.p_value, expected) << info.name;
      p_values.push_back(expected);
    }
    const std::vector<double> adjusted = holm(p_values);
    for (std::size_t k = 0; k < adjusted.size(); ++k) {
      EXPECT_EQ(m.comparisons[k].adjusted, adjusted[k]) << info.name;
      if (m.comparisons[k].difference.value == m.value.value) {
        EXPECT_EQ(m.p_value, adjusted[k]) << info.name;
      }
    }
  }
  // The measures of every audit are criteria too.
  EXPECT_EQ(r.find("demographic_parity")->comparisons[0].p_value,
            r.find("statistical_parity_difference")->comparisons[0].p_value);
  EXPECT_EQ(r.find("equalized_odds")->comparisons.back().p_value,
            r.find("fpr_difference")->comparisons.back().p_value);
  EXPECT_TRUE(std::isnan(r.find("demographic_parity_soft")->comparisons[0].p_value));
  EXPECT_TRUE(std::isnan(
      report(p, {.replicates = 50}).find("demographic_parity")->comparisons[0].p_value));
}

// Without a gap p-values are spread evenly: about one in twenty is below .05.
// Two groups are as far from the reference, on either side of it. The value is that of the
// larger one, which has the narrower interval: so is its p-value.
TEST(GroupPermutations, TheValueHasThePValueOfItsOwnComparison) {
  Scored scored{.p = Matrix(540, 2), .y = {}, .decision = {}, .favorable = 1};
  std::vector<std::int32_t> code;
  const auto add = [&](Index rows, Index chosen, std::int32_t group) {
    for (Index i = 0; i < rows; ++i) {
      scored.p.row(static_cast<Index>(code.size())) << .5, .5;
      scored.y.push_back(static_cast<std::int32_t>(i % 2));
      scored.decision.push_back(i < chosen);
      code.push_back(group);
    }
  };
  add(40, 10, 0);
  add(300, 150, 1);
  add(200, 150, 2);
  const GroupReport r = group_report(scored, "team", {"few", "half", "many"}, code,
                                     {.replicates = 10,
                                      .min_rows = 20,
                                      .min_label = 5,
                                      .reference = 1,
                                      .permutations = 300},
                                     {});
  const GroupMeasure& m = *r.find("statistical_parity_difference");
  ASSERT_EQ(m.comparisons.size(), 2U);
  ASSERT_EQ(m.comparisons[0].difference.value, -m.comparisons[1].difference.value);
  ASSERT_NE(m.comparisons[0].adjusted, m.comparisons[1].adjusted);
  EXPECT_EQ(m.value.value, .25);
  EXPECT_EQ(m.behind_value(), &m.comparisons[1]);
  EXPECT_EQ(m.p_value, m.comparisons[1].adjusted);
  const GroupMeasure& turned = *r.find("demographic_parity");  // its size: never below 0
  EXPECT_EQ(turned.value.value, .25);
  EXPECT_EQ(turned.behind_value()->second, 2);
  EXPECT_EQ(r.find("differential_fairness")->behind_value(), nullptr);
}

TEST(GroupPermutations, HoldTheirLevel) {
  int below = 0;
  constexpr int kRuns = 100;
  for (int run = 0; run < kRuns; ++run) {
    Rng rng(static_cast<std::uint64_t>(run), "level");
    IntervalProblem p;
    p.scored.p.resize(300, 2);
    p.scored.favorable = 1;
    for (Index i = 0; i < 300; ++i) {
      p.scored.p(i, 1) = rng.uniform();
      p.scored.p(i, 0) = 1 - p.scored.p(i, 1);
      p.scored.y.push_back(static_cast<std::int32_t>(rng.below(2)));
      p.code.push_back(static_cast<std::int32_t>(rng.below(2)));
    }
    p.scored.decision = decide(p.scored.p, 0.5);
    const GroupReport r = group_report(p.scored, "a", {"x", "y"}, p.code,
                                       {.replicates = 10, .permutations = 99}, {});
    below += r.find("demographic_parity")->p_value <= 0.05;
  }
  // Binomial(100, .05): 5 +- 2; beyond 14 once in ten thousand runs.
  EXPECT_LE(below, 14);
  EXPECT_GE(below, 1);
}

}  // namespace
}  // namespace fmd
