#include "fmd/metrics/pair_gaps.h"

#include <cmath>

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
  for (Index u = 0; u < units; ++u)
    for (Index k = 0; k <= rng.below(3); ++k) {
      s.unit.push_back(u);
      s.weight.push_back(static_cast<float>(0.25 + rng.uniform()));
      s.y.push_back(static_cast<std::int32_t>(rng.below(classes + 1)) - 1);
      s.decision.push_back(0);
      s.decision_bar.push_back(0);
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

TEST(PairGaps, ByHand) {
  PairScores s = two_class({0.5, 0.5, 0.5, 0.5}, {0.6, 0.2, 0.5, 0.9});
  s.y = {1, 1, 0, -1};
  const Vector change = pair_changes(s);
  const GapSummary all = gap_summary(s, change, {.quantiles = {0, 0.25, 0.5, 0.75, 1}});
  EXPECT_EQ(all.units, 4);
  EXPECT_NEAR(all.signed_mean, 0.05, 1e-15);
  EXPECT_NEAR(all.mean, 0.2, 1e-15);
  EXPECT_NEAR(all.largest, 0.4, 1e-15);
  EXPECT_EQ(all.largest_pair, 3);
  EXPECT_CLOSE(all.quantiles, (std::vector<double>{0, 0, 0.1, 0.3, 0.4}), 1e-15);
  const auto by_label = gap_summary_by_label(s, change);
  EXPECT_EQ(by_label[0].pairs, 1);
  EXPECT_EQ(by_label[1].pairs, 2);
  EXPECT_NEAR(by_label[1].signed_mean, -0.1, 1e-15);
  EXPECT_NEAR(by_label[1].mean, 0.2, 1e-15);
}

TEST(PairGaps, LogOddsByHand) {
  const PairScores s = two_class({0.5, 0}, {0.8, 1});
  const Vector change = pair_changes(s, GapScale::log_odds);
  EXPECT_NEAR(change(0), std::log(4.0), 1e-14);
  EXPECT_NEAR(change(1), 2 * 52 * std::log(2.0), 1e-12);
}

TEST(PairGaps, MeansAreThoseOfTheUnits) {
  for (const Index classes : {2, 3}) {
    const PairScores s = random_pairs(200, classes, 5);
    const Vector units = unit_gaps(s, "co");
    double sum = 0, known = 0;
    for (const double gap : units)
      if (!std::isnan(gap)) sum += gap, known += 1;
    const GapSummary found = gap_summary(s, pair_changes(s));
    EXPECT_CLOSE(found.mean, sum / known, 1e-12);
    EXPECT_EQ(found.units, static_cast<Index>(known));
  }
}

TEST(PairGaps, UndefinedAndRefused) {
  PairScores s = random_pairs(3, 3, 1);
  s.y.clear();
  const Vector change = pair_changes(s);
  EXPECT_TRUE(std::isnan(change(0)));
  const GapSummary none = gap_summary(s, change);
  EXPECT_EQ(none.pairs, 0);
  EXPECT_TRUE(std::isnan(none.mean) && std::isnan(none.quantiles[0]));
  EXPECT_EQ(none.largest_pair, -1);
  EXPECT_EQ(gap_summary_by_label(s, change)[2].units, 0);
  EXPECT_ERROR(gap_summary(s, Vector::Zero(1)), ErrorKind::bad_shape, "change has 1");
  EXPECT_ERROR(gap_summary(s, change, {.quantiles = {2}}), ErrorKind::bad_option,
               "quantiles is 2");
  s.y.assign(s.unit.size(), 7);
  EXPECT_ERROR(pair_changes(s), ErrorKind::bad_option, "y is 7");
}

}  // namespace
}  // namespace fmd
