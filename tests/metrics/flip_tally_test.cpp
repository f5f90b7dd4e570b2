#include "fmd/metrics/flip_tally.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/accumulator.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

static_assert(Accumulator<FlipTally>);

// Every unit has a value and a pair to each other one.
PairScores pairs(Index units, Index values, Index classes, std::uint64_t seed) {
  Rng rng(seed, "pairs");
  PairScores s;
  const Index count = units * (values - 1);
  s.p.resize(count, classes);
  s.pbar.resize(count, classes);
  const auto draw = [&](auto row) {
    for (Index k = 0; k < classes; ++k) row(k) = rng.uniform() + 0.01;
    row /= row.sum();
  };
  Index i = 0;
  for (Index u = 0; u < units; ++u) {
    const auto from = static_cast<std::int32_t>(rng.below(values));
    const auto y = static_cast<std::int32_t>(rng.below(classes + 1)) - 1;
    for (std::int32_t to = 0; to < values; ++to) {
      if (to == from) continue;
      draw(s.p.row(i));
      draw(s.pbar.row(i));
      s.unit.push_back(u);
      s.from.push_back(from);
      s.to.push_back(to);
      s.y.push_back(y);
      s.weight.push_back(1.0F / static_cast<float>(values - 1));
      ++i;
    }
  }
  for (Index k = 0; k < count; ++k) {
    Index a = 0, b = 0;
    s.p.row(k).maxCoeff(&a);
    s.pbar.row(k).maxCoeff(&b);
    s.decision.push_back(static_cast<std::int32_t>(a));
    s.decision_bar.push_back(static_cast<std::int32_t>(b));
  }
  return s;
}

PairScores part(const PairScores& s, Index first, Index last) {
  PairScores out;
  out.p = s.p.middleRows(first, last - first);
  out.pbar = s.pbar.middleRows(first, last - first);
  const auto cut = [&](const auto& all, auto& to) {
    to.assign(all.begin() + first, all.begin() + last);
  };
  cut(s.y, out.y), cut(s.decision, out.decision), cut(s.decision_bar, out.decision_bar);
  cut(s.unit, out.unit), cut(s.weight, out.weight), cut(s.from, out.from),
      cut(s.to, out.to);
  return out;
}

void expect_same(const FlipReport& a, const FlipReport& b) {
  EXPECT_EQ(a.units, b.units);
  EXPECT_EQ(a.co.value, b.co.value);
  EXPECT_EQ(a.co.low, b.co.low);
  EXPECT_EQ(a.co_tv.high, b.co_tv.high);
  EXPECT_EQ(a.flip_rate.low, b.flip_rate.low);
  EXPECT_EQ(a.co_large.high, b.co_large.high);
  EXPECT_EQ(a.worst, b.worst);
  ASSERT_EQ(a.cells.size(), b.cells.size());
  for (std::size_t c = 0; c < a.cells.size(); ++c) {
    EXPECT_EQ(a.cells[c].co.value, b.cells[c].co.value);
    EXPECT_EQ(a.cells[c].co.low, b.cells[c].co.low);
    EXPECT_EQ(a.cells[c].signed_change, b.cells[c].signed_change);
  }
}

TEST(FlipTally, PartsInAnyOrderAndFromBytesGiveTheSameBits) {
  const PairScores all = pairs(900, 3, 3, 1);
  for (const Index keep : {Index{200'000}, Index{0}}) {
    const FlipPlan plan{.classes = 3, .values = 3, .keep_units = keep};
    FlipTally whole(plan), sum(plan);
    whole.add(all);
    for (const auto& [first, last] :
         {std::pair<Index, Index>{1000, 1800}, {0, 2}, {2, 1000}}) {
      FlipTally own(plan);
      own.add(part(all, first, last));
      ByteWriter out;
      own.save(out);
      ByteReader in(out.bytes());
      sum.merge(FlipTally::load(in));
      EXPECT_EQ(in.left(), 0u);
      ByteReader cut(std::span(out.bytes()).first(out.bytes().size() - 1));
      EXPECT_ERROR(FlipTally::load(cut), ErrorKind::bad_model, "");
    }
    const FlipOptions options{.replicates = 300};
    expect_same(flip_report(whole, options, {}), flip_report(sum, options, {}));
    ThreadPool pool(4);
    expect_same(flip_report(whole, options, {}),
                flip_report(sum, options, {.pool = &pool}));
  }
}

TEST(FlipTally, SumsGiveNearlyTheIntervalsOfPairs) {
  const PairScores all = pairs(4000, 3, 2, 2);
  FlipTally kept({.classes = 2, .values = 3}),
      sums({.classes = 2, .values = 3, .keep_units = 0});
  kept.add(all);
  sums.add(all);
  const FlipOptions options{.replicates = 4000};
  const FlipReport a = flip_report(kept, options, {}), b = flip_report(sums, options, {});
  const auto near = [](const Interval& x, const Interval& y) {
    const double width = x.high - x.low;
    EXPECT_NEAR(x.value, y.value, 1e-12);
    EXPECT_NEAR(x.low, y.low, 0.07 * width);
    EXPECT_NEAR(x.high, y.high, 0.07 * width);
  };
  near(a.co, b.co);
  near(a.co_tv, b.co_tv);
  near(a.flip_rate, b.flip_rate);
  for (std::size_t c = 0; c < a.cells.size(); ++c) near(a.cells[c].co, b.cells[c].co);
  EXPECT_NEAR(a.co_large.value, b.co_large.value, 1e-12);
  // On the safe side, and not by much: the pairs here are independent, the worst case.
  EXPECT_LE(b.co_large.low, a.co_large.low + 0.05 * (a.co_large.high - a.co_large.low));
  EXPECT_LE(b.co_large.high - b.co_large.low, 1.6 * (a.co_large.high - a.co_large.low));
}

TEST(FlipTally, RareChangesHaveTheIntervalOfACount) {
  // 12 of 5,000 answers change: the bounds are those of a Poisson number, not even.
  PairScores s = pairs(5000, 2, 2, 3);
  for (std::size_t i = 0; i < 5000; ++i) {
    s.decision[i] = 1;
    s.decision_bar[i] = i < 12 ? 0 : 1;
  }
  FlipTally kept({.classes = 2, .values = 2}),
      sums({.classes = 2, .values = 2, .keep_units = 0});
  kept.add(s);
  sums.add(s);
  const FlipReport a = flip_report(kept, {.replicates = 8000}, {}),
                   b = flip_report(sums, {.replicates = 8000}, {});
  EXPECT_NEAR(a.flip_rate.low, b.flip_rate.low, 1.01 / 5000);
  EXPECT_NEAR(a.flip_rate.high, b.flip_rate.high, 1.01 / 5000);
}

TEST(FlipTally, WrongUseIsNamed) {
  FlipTally tally({.classes = 2, .values = 3});
  EXPECT_ERROR(tally.add(pairs(10, 4, 2, 4)), ErrorKind::bad_option, "value is 3");
  EXPECT_ERROR(tally.add(pairs(10, 3, 3, 4)), ErrorKind::bad_shape, "a row of p has 3");
  EXPECT_ERROR(tally.merge(FlipTally({.classes = 2, .values = 2})), ErrorKind::bad_shape,
               "different plans");
}

}  // namespace
}  // namespace fmd
