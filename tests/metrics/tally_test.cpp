#include "fmd/metrics/tally.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "fmd/core/accumulator.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/group.h"
#include "fmd/model/loss.h"
#include "support/close.h"

namespace fmd {
namespace {

static_assert(Accumulator<Tally>);

// Rows with two attributes of 2 and `values` values, some of them and some labels missing.
struct TallyProblem {
  Scored scored;
  std::vector<std::int32_t> a, b;
  std::vector<float> weight;
  std::vector<Index> values;

  [[nodiscard]] ScoredBlock block(Index first, Index last) const {
    const auto from = static_cast<std::size_t>(first);
    const auto count = static_cast<std::size_t>(last - first);
    ScoredBlock block{
        .rows = last - first,
        .classes = scored.p.cols(),
        .p = scored.p.data() + first * scored.p.cols(),
        .y = std::span(scored.y).subspan(from, count),
        .decision = std::span(scored.decision).subspan(from, count),
        .code = {std::span(a).subspan(from, count), std::span(b).subspan(from, count)},
        .weight = {}};
    if (!weight.empty()) block.weight = std::span(weight).subspan(from, count);
    return block;
  }
  [[nodiscard]] ScoredBlock all() const { return block(0, scored.rows()); }
  [[nodiscard]] TallyPlan plan() const {
    return {.classes = scored.p.cols(),
            .favorable = scored.favorable,
            .values = values,
            .weighted = !weight.empty()};
  }
};

TallyProblem problem(Index rows, Index classes, Index values, std::uint64_t seed) {
  Rng rng(seed, "tally");
  TallyProblem p;
  p.values = {2, values};
  p.scored.p.resize(rows, classes);
  p.scored.favorable = static_cast<int>(classes) - 1;
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < classes; ++k) p.scored.p(i, k) = rng.uniform() + 1e-3;
    p.scored.p.row(i) /= p.scored.p.row(i).sum();
    p.scored.y.push_back(static_cast<std::int32_t>(rng.below(classes + 1)) - 1);
    p.a.push_back(static_cast<std::int32_t>(rng.below(3)) - 1);
    p.b.push_back(static_cast<std::int32_t>(rng.below(values + 1)) - 1);
  }
  p.scored.decision = decide(p.scored.p, 0.5);
  return p;
}

// A second way of counting: row by row, in long double.
struct Brute {
  Index rows = 0, chosen = 0, right = 0;
  long double weight = 0, chosen_weight = 0, squares = 0, score = 0, score2 = 0, loss = 0;
};

using Key = std::pair<Index, std::int32_t>;  // group, label

std::map<Key, Brute> count(const TallyProblem& p,
                           const std::function<Index(std::size_t)>& group) {
  std::map<Key, Brute> all;
  for (std::size_t i = 0; i < p.scored.y.size(); ++i) {
    const Index row = static_cast<Index>(i);
    const Index g = group(i);
    if (g < 0) continue;
    const std::int32_t y = p.scored.y[i];
    Brute& to = all[{g, y}];
    const long double w = p.weight.empty() ? 1.0L : static_cast<long double>(p.weight[i]);
    const bool chosen = p.scored.decision[i] == p.scored.favorable;
    const long double s = p.scored.p(row, p.scored.favorable);
    ++to.rows;
    to.chosen += chosen;
    to.right += p.scored.decision[i] == y;
    to.weight += w;
    to.chosen_weight += chosen ? w : 0;
    to.squares += w * w;
    to.score += w * s;
    to.score2 += w * s * s;
    if (y >= 0) to.loss -= w * std::log(static_cast<long double>(p.scored.p(row, y)));
  }
  return all;
}

void expect_counts(const TallyProblem& p, const Tally& tally,
                   std::vector<Index> attributes) {
  const Index width = p.values[1];
  const auto group = [&](std::size_t i) -> Index {
    if (attributes.size() == 2)
      return p.a[i] < 0 || p.b[i] < 0 ? -1 : p.a[i] * width + p.b[i];
    return attributes[0] == 0 ? p.a[i] : p.b[i];
  };
  const auto brute = count(p, group);
  Index without = 0, in_groups = 0;
  const std::vector<GroupTally> found = tally.groups(attributes, &without);
  for (std::size_t g = 0; g < found.size(); ++g) {
    for (std::int32_t y = -1; y < static_cast<std::int32_t>(p.scored.p.cols()); ++y) {
      const LabelTally& l =
          y < 0 ? found[g].unknown : found[g].label[static_cast<std::size_t>(y)];
      const auto it = brute.find({static_cast<Index>(g), y});
      const Brute b = it == brute.end() ? Brute{} : it->second;
      EXPECT_EQ(l.rows, b.rows);
      EXPECT_EQ(l.chosen, b.chosen);
      EXPECT_EQ(l.right, b.right);
      EXPECT_NEAR(l.weight, static_cast<double>(b.weight), 1e-9);
      EXPECT_NEAR(l.weight_chosen, static_cast<double>(b.chosen_weight), 1e-9);
      EXPECT_CLOSE(l.weight_squares, static_cast<double>(b.squares), 1e-12);
      EXPECT_NEAR(l.score, static_cast<double>(b.score), 1e-10);
      EXPECT_NEAR(l.score_squares, static_cast<double>(b.score2), 1e-10);
      EXPECT_NEAR(l.loss, static_cast<double>(b.loss), 1e-9);
      in_groups += l.rows;
    }
  }
  EXPECT_EQ(in_groups + without, tally.rows());
}

Bytes bytes_of(const Tally& tally) {
  ByteWriter out;
  tally.save(out);
  return out.take();
}

Tally by_blocks(const TallyProblem& p, const std::vector<Index>& borders) {
  Tally sum(p.plan());
  for (std::size_t k = 0; k + 1 < borders.size(); ++k) {
    Tally part(p.plan());
    part.add(p.block(borders[k], borders[k + 1]));
    sum.merge(part);
  }
  return sum;
}

TEST(Tally, CountsAsALoopOverTheRowsDoes) {
  for (const Index classes : {2, 4}) {
    for (const Index values : {3, 700}) {  // a table of all attributes, and one of each two
      const TallyProblem p = problem(9000, classes, values, 3);
      const Tally t = tally(p.plan(), p.all(), {});
      EXPECT_EQ(t.rows(), 9000);
      expect_counts(p, t, {0});
      expect_counts(p, t, {1});
      expect_counts(p, t, {0, 1});
    }
  }
}

TEST(Tally, WeightsAreSummedTheSameWay) {
  TallyProblem p = problem(3000, 2, 5, 4);
  Rng rng(1, "weights");
  for (Index i = 0; i < 3000; ++i)
    p.weight.push_back(i % 7 == 0 ? 0.0F : static_cast<float>(1000 * rng.uniform() + 0.01));
  const Tally t = tally(p.plan(), p.all(), {});
  expect_counts(p, t, {0});
  expect_counts(p, t, {0, 1});
}

TEST(Tally, AnyBordersAndAnyThreadsGiveTheSameBits) {
  const TallyProblem p = problem(20000, 2, 4, 5);
  const Bytes whole = bytes_of(by_blocks(p, {0, 20000}));
  EXPECT_EQ(bytes_of(by_blocks(p, {0, 4096, 8192, 20000})), whole);
  EXPECT_EQ(bytes_of(by_blocks(p, {0, 1, 4095, 4097, 12289, 12289, 20000})), whole);
  EXPECT_EQ(bytes_of(by_blocks(p, {0, 8191, 8193, 16385, 20000})), whole);

  TallyProblem many = problem(700000, 2, 4, 6);
  many.values.push_back(3);
  std::vector<std::int32_t> c(many.a.size(), 2);
  ScoredBlock block = many.all();
  block.code.emplace_back(c);
  const Bytes alone = bytes_of(tally(many.plan(), block, {}));
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(bytes_of(tally(many.plan(), block, {.pool = &pool})), alone);
  }
}

TEST(Tally, MergesInAnyOrder) {
  const TallyProblem p = problem(12000, 3, 4, 7);
  std::vector<Tally> parts;
  for (const Index first : {0, 4000, 8000}) {
    parts.emplace_back(p.plan());
    parts.back().add(p.block(first, first + 4000));
  }
  Tally forth(p.plan()), back(p.plan());
  for (std::size_t k = 0; k < 3; ++k) forth.merge(parts[k]), back.merge(parts[2 - k]);
  const Index both[] = {0, 1};
  const auto one = forth.groups(both), other = back.groups(both);
  for (std::size_t g = 0; g < one.size(); ++g) {
    EXPECT_EQ(one[g].all().loss, other[g].all().loss);
    EXPECT_EQ(one[g].all().score, other[g].all().score);
  }
  const auto values = [](int n) {
    std::vector<std::string> names;
    for (int v = 0; v < n; ++v) names.push_back(std::to_string(v));
    return names;
  };
  const Index second[] = {1};
  const auto a = group_report(forth, second, "b", values(4), {.replicates = 200}, {});
  const auto b = group_report(back, second, "b", values(4), {.replicates = 200}, {});
  for (std::size_t m = 0; m < a.measures.size(); ++m) {
    if (!a.measures[m].value.defined()) continue;
    EXPECT_EQ(a.measures[m].value.value, b.measures[m].value.value) << a.measures[m].name;
    const double low = a.measures[m].value.low;
    if (std::isnan(low))  // some have no interval
      EXPECT_TRUE(std::isnan(b.measures[m].value.low)) << a.measures[m].name;
    else
      EXPECT_EQ(low, b.measures[m].value.low) << a.measures[m].name;
  }
}

TEST(Tally, TravelsAsBytes) {
  TallyProblem p = problem(5000, 2, 4, 8);
  Tally half(p.plan()), rest(p.plan());
  half.add(p.block(0, 2500));
  rest.add(p.block(2500, 5000));
  ByteWriter out;
  half.save(out);
  ByteReader in(out.bytes());
  Tally read = Tally::load(in);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(bytes_of(read), out.bytes());
  read.merge(rest);
  EXPECT_EQ(bytes_of(read), bytes_of(by_blocks(p, {0, 5000})));
  for (std::size_t size = 0; size < out.bytes().size(); size += 997) {
    ByteReader cut(std::span(out.bytes()).first(size));
    EXPECT_ERROR(Tally::load(cut), ErrorKind::bad_model, "");
  }
}

TEST(Tally, HistogramsHoldTheLabelledRows) {
  const TallyProblem p = problem(4000, 2, 3, 9);
  const Tally t = tally(p.plan(), p.all(), {});
  const Index second[] = {1};
  const auto found = t.histograms(second);
  ASSERT_EQ(found.size(), 3u);
  std::vector<ScoreHistogram> expected(3, ScoreHistogram(kScoreBins));
  for (std::size_t i = 0; i < p.b.size(); ++i)
    if (p.b[i] >= 0 && p.scored.y[i] >= 0)
      expected[static_cast<std::size_t>(p.b[i])].add(p.scored.p(static_cast<Index>(i), 1),
                                                     p.scored.y[i] == 1);
  for (std::size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(found[g].positive, expected[g].positive);
    EXPECT_EQ(found[g].negative, expected[g].negative);
  }
}

TEST(Tally, OverallFiguresByHand) {
  const TallyProblem p = problem(3000, 3, 3, 10);
  const Tally t = tally(p.plan(), p.all(), {});
  long double loss = 0;
  Index known = 0, right = 0;
  for (std::size_t i = 0; i < p.scored.y.size(); ++i) {
    const std::int32_t y = p.scored.y[i];
    if (y < 0) continue;
    ++known;
    right += p.scored.decision[i] == y;
    loss -= std::log(static_cast<long double>(p.scored.p(static_cast<Index>(i), y)));
  }
  EXPECT_CLOSE(log_loss(t), static_cast<double>(loss) / static_cast<double>(known), 1e-13);
  EXPECT_EQ(accuracy(t, 0.95).low, wilson(right, known, 0.95).low);
  EXPECT_CLOSE(calibration_error(t), calibration_error(p.scored), 1e-13);
}

TEST(Tally, RowsAreKeptUpToALimit) {
  const TallyProblem p = problem(3000, 2, 3, 11);
  TallyPlan few = p.plan();
  few.keep_rows = 2999;
  EXPECT_EQ(tally(few, p.all(), {}).kept(), nullptr);
  few.keep_rows = 3000;
  EXPECT_EQ(tally(few, p.all(), {}).kept()->score.size(), 3000u);
  few.favorable = -1;
  EXPECT_EQ(tally(few, p.all(), {}).kept(), nullptr);
}

TEST(Tally, MomentsGiveNearlyTheIntervalsOfRows) {
  TallyProblem p = problem(30000, 2, 3, 12);
  TallyPlan moments = p.plan();
  moments.keep_rows = 0;
  const Index second[] = {1};
  const std::vector<std::string> values{"x", "y", "z"};
  const GroupOptions options{.replicates = 4000};
  const auto exact =
      group_report(tally(p.plan(), p.all(), {}), second, "b", values, options, {});
  const auto near =
      group_report(tally(moments, p.all(), {}), second, "b", values, options, {});
  for (const char* name : {"demographic_parity_soft", "equal_opportunity_soft"}) {
    const Interval &a = exact.find(name)->comparisons[0].difference,
                   &b = near.find(name)->comparisons[0].difference;
    EXPECT_EQ(a.value, b.value);
    EXPECT_NEAR(b.low, a.low, 0.06 * (a.high - a.low));
    EXPECT_NEAR(b.high, a.high, 0.06 * (a.high - a.low));
  }
}

TEST(Tally, RareLargeScoresAreDrawnFromTheHistogram) {
  // 500 rows a group, 4 of them 1: a sum of these is no normal number, and never below 0.
  TallyProblem p;
  p.values = {2, 1};
  p.scored.p = Matrix::Zero(1000, 2);
  p.scored.favorable = 1;
  for (Index i = 0; i < 1000; ++i) {
    p.scored.p(i, 1) = i % 125 == 0 ? 0.9996 : 0;
    p.scored.p(i, 0) = 1 - p.scored.p(i, 1);
    p.scored.y.push_back(static_cast<std::int32_t>(i % 2));
    p.a.push_back(i < 500 ? 0 : 1);
    p.b.push_back(0);
  }
  p.scored.decision = decide(p.scored.p, 0.5);
  TallyPlan moments = p.plan();
  moments.keep_rows = 0;
  const Index first[] = {0};
  const GroupOptions options{.confidence = 0.9, .replicates = 4000};
  const auto exact =
      group_report(tally(p.plan(), p.all(), {}), first, "a", {"x", "y"}, options, {});
  const auto near =
      group_report(tally(moments, p.all(), {}), first, "a", {"x", "y"}, options, {});
  const Interval &a = exact.find("demographic_parity_soft")->comparisons[0].difference,
                 &b = near.find("demographic_parity_soft")->comparisons[0].difference;
  EXPECT_NEAR(b.low, a.low, 0.0005);
  EXPECT_NEAR(b.high, a.high, 0.0005);
}

TEST(Tally, WeightedRatesHaveTheIntervalOfTheEffectiveRows) {
  // Group 0: 300 rows of weight 1, 100 of weight 3, which are the chosen ones.
  TallyProblem p;
  p.values = {2, 1};
  p.scored.favorable = 1;
  p.scored.p = Matrix::Zero(800, 2);
  for (Index i = 0; i < 800; ++i) {
    const bool chosen = i % 400 < 100;
    p.scored.p.row(i) << (chosen ? 0.2 : 0.8), (chosen ? 0.8 : 0.2);
    p.scored.y.push_back(static_cast<std::int32_t>(i % 2));
    p.weight.push_back(chosen && i < 400 ? 3.0F : 1.0F);
    p.a.push_back(i < 400 ? 0 : 1);
    p.b.push_back(0);
  }
  p.scored.decision = decide(p.scored.p, 0.5);
  const Index first[] = {0};
  const auto report =
      group_report(tally(p.plan(), p.all(), {}), first, "a", {"x", "y"}, {}, {});
  const double rows = 600.0 * 600.0 / (300 + 900);
  const Interval expected = effective_wilson(rows / 2, rows, 0.95);
  EXPECT_CLOSE(report.groups[0].selection_rate.value, 0.5, 1e-12);
  EXPECT_CLOSE(report.groups[0].selection_rate.low, expected.low, 1e-12);
  EXPECT_CLOSE(report.groups[0].effective_rows, rows, 1e-12);
  EXPECT_EQ(report.groups[0].rows, 400);
  EXPECT_CLOSE(report.groups[1].selection_rate.low, wilson(100, 400, 0.95).low, 1e-12);
  EXPECT_CLOSE(report.find("demographic_parity")->value.value, 0.25, 1e-12);
  EXPECT_CLOSE(report.groups[0].mean_score, 0.5, 1e-12);
}

TEST(Tally, WrongUseIsNamed) {
  TallyProblem p = problem(10, 2, 3, 13);
  const auto of = [&] { return tally(p.plan(), p.all(), {}); };
  p.a[3] = 2;
  EXPECT_ERROR(of(), ErrorKind::bad_shape, "the group 2, there are 2");
  p.a[3] = -2;
  EXPECT_ERROR(of(), ErrorKind::bad_shape, "the group -2");
  p.a[3] = 0;
  p.scored.y[4] = 2;
  EXPECT_ERROR(of(), ErrorKind::bad_option, "y is 2");
  p.scored.y[4] = 1;
  for (const double bad : {-0.1, 1.1, kUndefined}) {
    p.scored.p(6, 1) = bad;
    EXPECT_ERROR(of(), ErrorKind::bad_value, "row 7 has the score");
  }
  p.scored.p(6, 1) = 0.5;
  p.weight.assign(10, 1);
  for (const float bad : {-1.0F, 1e7F, 1e-9F}) {
    p.weight[2] = bad;
    EXPECT_ERROR(of(), ErrorKind::bad_value, "the weight");
  }
  TallyPlan other = problem(10, 2, 4, 13).plan();
  Tally one(p.plan());
  EXPECT_ERROR(one.merge(Tally(other)), ErrorKind::bad_shape, "different plans");
  EXPECT_ERROR(Tally({.classes = 2, .values = {100000, 100000}}), ErrorKind::bad_option,
               "too many");
  EXPECT_ERROR(Tally({.classes = 1, .values = {}}), ErrorKind::bad_option, "classes is 1");
}

}  // namespace
}  // namespace fmd
