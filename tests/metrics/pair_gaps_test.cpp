#include "fmd/metrics/pair_gaps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

PairScores two_class(const std::vector<double>& p, const std::vector<double>& pbar) {
  PairScores s;
  const auto pairs = static_cast<Index>(p.size());
  s.p.resize(pairs, 2);
  s.pbar.resize(pairs, 2);
  for (Index i = 0; i < pairs; ++i) {
    const auto k = static_cast<std::size_t>(i);
    s.p.row(i) << 1 - p[k], p[k];
    s.pbar.row(i) << 1 - pbar[k], pbar[k];
    s.unit.push_back(i);
    s.decision.push_back(p[k] >= 0.5);
    s.decision_bar.push_back(pbar[k] >= 0.5);
  }
  return s;
}

PairScores random_pairs(Index units, Index classes, std::uint64_t seed) {
  Rng rng(seed, "pairs");
  PairScores s;
  for (Index u = 0; u < units; ++u) {
    const auto y = static_cast<std::int32_t>(rng.below(classes + 1)) - 1;
    for (Index k = 0; k <= rng.below(3); ++k) {
      s.unit.push_back(u);
      s.weight.push_back(static_cast<float>(0.25 + rng.uniform()));
      s.y.push_back(y);
      s.decision.push_back(0);
      s.decision_bar.push_back(0);
    }
  }
  const auto pairs = static_cast<Index>(s.unit.size());
  const auto fill = [&](Matrix& m) {
    m.resize(pairs, classes);
    for (double& x : m.reshaped()) x = 0.01 + rng.uniform();
    for (Index i = 0; i < pairs; ++i) m.row(i) /= m.row(i).sum();
  };
  fill(s.p);
  fill(s.pbar);
  return s;
}

const FlipFigure& find(const std::vector<FlipFigure>& all, const std::string& name,
                       Index label = -1) {
  for (const FlipFigure& figure : all)
    if (figure.name == name && figure.label == label) return figure;
  throw std::out_of_range(name);
}

std::vector<FlipFigure> figures(const PairScores& s) {
  PairGaps gaps(s.p.cols());
  gaps.add(s);
  return gaps.figures(0.95);
}

double logit(double p) { return std::log(p / (1 - p)); }

TEST(PairGaps, ByHand) {
  PairScores s = two_class({0.5, 0.5, 0.5, 0.5}, {0.6, 0.2, 0.5, 0.9});
  s.y = {1, 1, 0, -1};
  const std::vector<FlipFigure> all = figures(s);
  const Interval change = find(all, "signed_change").value;
  EXPECT_NEAR(change.value, 0.05, 1e-14);
  // Deviations .05, -.35, -.05, .35; 1.959964 sd / 2.
  EXPECT_NEAR(change.high - change.value, 1.959964 * std::sqrt(0.25 / 3) / 2, 1e-7);
  EXPECT_NEAR(change.value - change.low, change.high - change.value, 1e-15);
  EXPECT_NEAR(find(all, "log_odds_gap").value.value,
              (logit(0.6) + logit(0.8) + 0 + logit(0.9)) / 4, 1e-13);
  EXPECT_NEAR(find(all, "loss_ratio").value.value,
              (std::log(0.6) + std::log(0.2) + std::log(0.5)) / std::log(0.5) / 3, 1e-13);
  EXPECT_NEAR(find(all, "co_label", 1).value.value, 0.2, 1e-14);
  EXPECT_NEAR(find(all, "co_label", 0).value.value, 0, 1e-14);
  EXPECT_NEAR(find(all, "largest_gap").value.value, 0.4, 1e-15);
  EXPECT_TRUE(std::isnan(find(all, "largest_gap").value.low));
  EXPECT_GE(find(all, "gap_q50").value.value, 0.1 - 1e-15);  // 0, .1, .3, .4
  EXPECT_LE(find(all, "gap_q50").value.value, 0.1 * (1 + 1.0 / 64));
}

// The definitions over again, pair by pair, in another order.
TEST(PairGaps, OfWeightedPairsOfSeveralClasses) {
  for (const Index classes : {2, 3}) {
    const PairScores s = random_pairs(400, classes, 7);
    std::map<Index, std::vector<Index>> units;
    for (Index i = s.p.rows() - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      units[s.unit[at]].push_back(i);
    }
    double change = 0, odds = 0, known = 0;
    std::vector<double> sizes;
    std::map<int, std::pair<double, double>> by_label;
    for (const auto& [unit, pairs] : units) {
      const std::int32_t y = s.y[static_cast<std::size_t>(pairs[0])];
      if (classes > 2 && y < 0) continue;
      const Index k = classes == 2 ? 1 : y;
      double sum = 0, gap = 0, on_odds = 0, all = 0;
      for (const Index i : pairs) {
        const double w = static_cast<double>(s.weight[static_cast<std::size_t>(i)]);
        all += w;
        sum += w * (s.pbar(i, k) - s.p(i, k));
        gap += w * std::abs(s.pbar(i, k) - s.p(i, k));
        on_odds += w * std::abs(logit(s.pbar(i, k)) - logit(s.p(i, k)));
        sizes.push_back(std::abs(s.pbar(i, k) - s.p(i, k)));
      }
      change += sum / all, odds += on_odds / all, known += 1;
      if (y >= 0) by_label[y].first += gap / all, by_label[y].second += 1;
    }
    const std::vector<FlipFigure> all = figures(s);
    EXPECT_NEAR(find(all, "signed_change").value.value, change / known, 1e-12);
    EXPECT_NEAR(find(all, "log_odds_gap").value.value, odds / known, 1e-12);
    for (const auto& [y, sum] : by_label)
      EXPECT_NEAR(find(all, "co_label", y).value.value, sum.first / sum.second, 1e-12);
    std::sort(sizes.begin(), sizes.end());
    const double q90 =
        sizes[static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(sizes.size()))) -
              1];
    const Interval found = find(all, "gap_q90").value;
    EXPECT_GE(found.value, q90);
    EXPECT_LE(found.value, q90 * (1 + 1.0 / 64));
    EXPECT_LT(found.low, found.value);
    EXPECT_GT(found.high, found.value);
    EXPECT_EQ(find(all, "largest_gap").value.value, sizes.back());
  }
}

TEST(PairGaps, MergedAndSavedInAnyOrderAreTheSameBits) {
  const PairScores a = random_pairs(300, 3, 1), b = random_pairs(200, 3, 2);
  PairGaps one(3), other(3), part(3);
  one.add(a);
  one.add(b);
  other.add(b);
  part.add(a);
  ByteWriter out;
  part.save(out);
  ByteReader in(out.bytes());
  PairGaps loaded(3);
  loaded.load(in);
  other.merge(loaded);
  const auto x = one.figures(0.9), y = other.figures(0.9);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].value.value, y[i].value.value) << x[i].name;
    if (x[i].name == "largest_gap") continue;
    EXPECT_EQ(x[i].value.low, y[i].value.low) << x[i].name;
  }
}

// Without labels three classes have no gap, and two have no loss.
TEST(PairGaps, WhatIsNotKnownIsUndefined) {
  PairScores s = random_pairs(50, 3, 3);
  s.y.clear();
  for (const FlipFigure& figure : figures(s)) {
    EXPECT_FALSE(figure.value.defined()) << figure.name;
    EXPECT_FALSE(figure.reason.empty()) << figure.name;
  }
  PairScores two = two_class({0.2, 0.7}, {0.3, 0.6});
  EXPECT_TRUE(find(figures(two), "signed_change").value.defined());
  EXPECT_FALSE(find(figures(two), "loss_ratio").value.defined());
}

// Certain answers have no loss and endless odds: both stay finite.
TEST(PairGaps, CertainAnswersStayFinite) {
  PairScores s = two_class({1, 0, 1}, {0, 1, 1});
  s.y = {1, 1, 1};
  const std::vector<FlipFigure> all = figures(s);
  for (const char* name : {"log_odds_gap", "loss_ratio", "largest_gap"})
    EXPECT_TRUE(std::isfinite(find(all, name).value.value)) << name;
  EXPECT_EQ(find(all, "largest_gap").value.value, 1);
  EXPECT_EQ(find(all, "gap_q99").value.value, 1);
}

}  // namespace
}  // namespace fmd
