#include "fmd/metrics/counterfactual.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

// Two classes: p1 of c and of cbar.
PairScores pairs_of(const std::vector<double>& p, const std::vector<double>& q,
                    std::vector<Index> unit) {
  PairScores s;
  s.p.resize(static_cast<Index>(p.size()), 2);
  s.pbar.resize(static_cast<Index>(p.size()), 2);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto row = static_cast<Index>(i);
    s.p.row(row) << 1 - p[i], p[i];
    s.pbar.row(row) << 1 - q[i], q[i];
    s.decision.push_back(p[i] >= 0.5);
    s.decision_bar.push_back(q[i] >= 0.5);
  }
  s.unit = std::move(unit);
  return s;
}

// Rows with V values, each flipped to every other value; scores depend on row and value.
PairScores flips(Index rows, std::int32_t values, std::uint64_t seed, Index classes = 2) {
  Rng rng(seed, "flips");
  PairScores s;
  const Index pairs = rows * (values - 1);
  s.p.resize(pairs, classes);
  s.pbar.resize(pairs, classes);
  const auto draw = [&](Vector& p) {
    for (double& x : p) x = std::exp(rng.normal());
    p /= p.sum();
  };
  Index i = 0;
  for (Index row = 0; row < rows; ++row) {
    const auto own = static_cast<std::int32_t>(rng.below(values));
    const auto y = static_cast<std::int32_t>(rng.below(classes));
    Vector p(classes), q(classes);
    draw(p);
    for (std::int32_t to = 0; to < values; ++to) {
      if (to == own) continue;
      draw(q);
      s.p.row(i) = p.transpose();
      s.pbar.row(i) = q.transpose();
      s.y.push_back(y);
      s.decision.push_back(p(0) > p(1));
      s.decision_bar.push_back(q(0) > q(1));
      s.unit.push_back(row);
      s.weight.push_back(1 / static_cast<float>(values - 1));
      s.from.push_back(own);
      s.to.push_back(to);
      ++i;
    }
  }
  return s;
}

// The units in another order.
PairScores reordered(const PairScores& s, std::uint64_t seed) {
  Rng rng(seed, "order");
  const Index units = s.unit.back() + 1;
  const std::vector<Index> place = permutation(units, rng);
  std::vector<Index> order(s.unit.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return place[static_cast<std::size_t>(s.unit[static_cast<std::size_t>(a)])] <
           place[static_cast<std::size_t>(s.unit[static_cast<std::size_t>(b)])];
  });
  PairScores r = s;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    r.p.row(static_cast<Index>(i)) = s.p.row(order[i]);
    r.pbar.row(static_cast<Index>(i)) = s.pbar.row(order[i]);
    r.y[i] = s.y[from], r.unit[i] = s.unit[from], r.from[i] = s.from[from],
    r.to[i] = s.to[from];
    r.decision[i] = s.decision[from], r.decision_bar[i] = s.decision_bar[from];
  }
  return r;
}

bool near(const Interval& a, const Interval& b) {
  return std::abs(a.value - b.value) < 1e-12 && std::abs(a.low - b.low) < 1e-12 &&
         std::abs(a.high - b.high) < 1e-12;
}

TEST(FlipReport, TwoClassesByHand) {
  const auto report =
      flip_report(pairs_of({0.6, 0.4, 0.9}, {0.4, 0.3, 0.9}, {0, 1, 2}), 0, {}, {});
  EXPECT_EQ(report.units, 3);
  EXPECT_CLOSE(report.co.value, 0.1, 1e-14);
  EXPECT_EQ(report.co.value, report.co_tv.value);
  EXPECT_CLOSE(report.flip_rate.value, 1.0 / 3, 1e-14);
  EXPECT_CLOSE(report.share_still, 1.0 / 3, 1e-14);
  EXPECT_LE(report.co.low, 0.1);
  EXPECT_GE(report.co.high, 0.1);
  EXPECT_TRUE(report.cells.empty());
  EXPECT_FALSE(report.co_large.defined());
  EXPECT_EQ(report.worst, -1);
}

TEST(FlipReport, EveryRowCountsOnceWhateverItsNumberOfPairs) {
  // Unit 0 has gaps .2 and .4, unit 1 the gap 0: (.3 + 0) / 2.
  auto s = pairs_of({0.5, 0.5, 0.5}, {0.7, 0.9, 0.5}, {0, 0, 1});
  EXPECT_CLOSE(flip_report(s, 0, {}, {}).co.value, 0.15, 1e-14);
  s.weight = {0.75f, 0.25f, 1};
  EXPECT_CLOSE(flip_report(s, 0, {}, {}).co.value, 0.125, 1e-14);
  EXPECT_CLOSE(unit_gaps(s, "co"), (std::vector<double>{0.25, 0}), 1e-14);
  EXPECT_CLOSE(unit_gaps(s, "flip_rate"), (std::vector<double>{0, 0}), 1e-14);
}

TEST(FlipReport, MoreClassesNeedTheLabelForCo) {
  PairScores s;
  s.p.resize(2, 3);
  s.pbar.resize(2, 3);
  s.p << 0.5, 0.3, 0.2, 0.2, 0.2, 0.6;
  s.pbar << 0.4, 0.2, 0.4, 0.2, 0.3, 0.5;
  s.decision = {0, 2};
  s.decision_bar = {0, 2};
  s.unit = {0, 1};
  const auto without = flip_report(s, 0, {}, {});
  EXPECT_FALSE(without.co.defined());
  EXPECT_CLOSE(without.co_tv.value, 0.15, 1e-14);
  s.y = {2, 0};
  EXPECT_CLOSE(flip_report(s, 0, {}, {}).co.value, 0.1, 1e-14);
  s.y = {2, -1};
  EXPECT_CLOSE(flip_report(s, 0, {}, {}).co.value, 0.2, 1e-14);
  EXPECT_TRUE(std::isnan(unit_gaps(s, "co")(1)));
}

TEST(FlipReport, CellsNameTheWorstAmongLargeValues) {
  // Values 0 and 1 have two rows each, value 2 one: with min_rows = 2 it is not judged.
  auto s = pairs_of({0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.1, 0.1},
                    {0.6, 0.9, 0.4, 0.9, 0.8, 0.9, 0.8, 0.9, 0.9, 0.9},
                    {0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  s.from = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
  s.to = {1, 2, 1, 2, 0, 2, 0, 2, 0, 1};
  const auto report = flip_report(s, 3, {.replicates = 200, .min_rows = 2}, {});
  ASSERT_EQ(report.cells.size(), 6u);
  EXPECT_EQ(report.large_values, 2);
  const FlipCell& first = report.cells[0];  // 0 -> 1: changes +.1 and -.1
  EXPECT_EQ(first.rows, 2);
  EXPECT_CLOSE(first.co.value, 0.1, 1e-14);
  EXPECT_NEAR(first.signed_change, 0, 1e-14);
  EXPECT_CLOSE(first.flip_rate, 0.5, 1e-14);
  ASSERT_GE(report.worst, 0);
  const FlipCell& worst = report.cells[static_cast<std::size_t>(report.worst)];
  EXPECT_EQ(worst.from, 1);
  EXPECT_EQ(worst.to, 0);
  EXPECT_CLOSE(worst.co.value, 0.3, 1e-14);
  EXPECT_CLOSE(worst.co.low, 0.3, 1e-14);
  EXPECT_CLOSE(report.co_large.value, (0.1 + 0.1 + 0.3 + 0.3) / 4, 1e-14);
  EXPECT_CLOSE(report.cells[4].co.value, 0.8,
               1e-14);  // 2 -> 0 is there, only not the worst
}

TEST(FlipReport, AllValuesLargeMakesCoLargeTheSameAsCo) {
  const auto report = flip_report(flips(300, 3, 1), 3, {.min_rows = 10}, {});
  EXPECT_TRUE(near(report.co, report.co_large));
}

TEST(FlipReport, AValueWithoutRowsHasUndefinedCells) {
  auto s = pairs_of({0.5, 0.5}, {0.6, 0.7}, {0, 1});
  s.from = {0, 0};
  s.to = {1, 1};
  const auto report = flip_report(s, 2, {.min_rows = 1}, {});
  ASSERT_EQ(report.cells.size(), 2u);
  EXPECT_FALSE(report.cells[1].co.defined());
  EXPECT_TRUE(std::isnan(report.cells[1].flip_rate));
  EXPECT_EQ(report.worst, -1);
}

TEST(FlipReport, NothingToMeasureIsUndefined) {
  const auto report = flip_report(PairScores{}, 0, {}, {});
  EXPECT_EQ(report.pairs, 0);
  EXPECT_FALSE(report.co.defined() || report.co_tv.defined() || report.flip_rate.defined());
}

RC_GTEST_PROP(FlipReport, TheOrderOfRowsDoesNotMatter, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto classes = *rc::gen::inRange<Index>(2, 4);
  const PairScores s = flips(40, 3, seed, classes);
  const FlipOptions options{.replicates = 40, .min_rows = 5};
  const auto a = flip_report(s, 3, options, {}),
             b = flip_report(reordered(s, seed), 3, options, {});
  RC_ASSERT(near(a.co, b.co) && near(a.co_tv, b.co_tv) && near(a.flip_rate, b.flip_rate));
  RC_ASSERT(a.share_still == b.share_still && a.worst == b.worst);
  for (std::size_t c = 0; c < a.cells.size(); ++c)
    RC_ASSERT(a.cells[c].rows == b.cells[c].rows &&
              (a.cells[c].rows == 0 || near(a.cells[c].co, b.cells[c].co)));
}

RC_GTEST_PROP(FlipReport, CellsAverageToTheWhole, ()) {
  const PairScores s = flips(30, 3, *rc::gen::arbitrary<std::uint64_t>());
  const auto report = flip_report(s, 3, {.replicates = 0}, {});
  double gap = 0, flip = 0;
  for (const auto& cell : report.cells) {
    if (cell.rows == 0) continue;
    gap += static_cast<double>(cell.rows) * cell.co.value;
    flip += static_cast<double>(cell.rows) * cell.flip_rate;
  }
  const double pairs = static_cast<double>(report.pairs);
  RC_ASSERT(std::abs(gap / pairs - report.co.value) < 1e-12);
  RC_ASSERT(std::abs(flip / pairs - report.flip_rate.value) < 1e-12);
  RC_ASSERT(std::abs(unit_gaps(s, "co").mean() - report.co.value) < 1e-12);
}

TEST(FlipReport, ThreadsDoNotChangeABit) {
  const PairScores s = flips(6000, 2, 3);
  const auto alone = flip_report(s, 2, {.replicates = 50}, {});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const auto report = flip_report(s, 2, {.replicates = 50}, {.pool = &pool});
    EXPECT_EQ(report.co.value, alone.co.value);
    EXPECT_EQ(report.co.low, alone.co.low);
    EXPECT_EQ(report.cells[1].co.high, alone.cells[1].co.high);
  }
}

TEST(FlipReport, WrongShapesAreNamed) {
  auto s = pairs_of({0.5, 0.5}, {0.6, 0.7}, {0, 1});
  s.unit.pop_back();
  EXPECT_ERROR(flip_report(s, 0, {}, {}), ErrorKind::bad_shape,
               "unit has 1 entries, needs 2");
  s = pairs_of({0.5, 0.5}, {0.6, 0.7}, {0, 1});
  s.from = {0, 5};
  s.to = {1, 0};
  EXPECT_ERROR(flip_report(s, 2, {}, {}), ErrorKind::bad_option, "value is 5");
  s.to.pop_back();
  EXPECT_ERROR(flip_report(s, 2, {}, {}), ErrorKind::bad_shape, "to has 1");
  EXPECT_ERROR(unit_gaps(s, "gap"), ErrorKind::bad_option, "co, co_tv or flip_rate");
}

}  // namespace
}  // namespace fmd
