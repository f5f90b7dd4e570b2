#include "fmd/pipeline/scan.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/data/csv.h"
#include "fmd/metrics/testing.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/score_files.h"
#include "fmd/pipeline/slope.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

double choose(Index n, Index k) {
  double result = 1;
  for (Index i = 1; i <= k; ++i)
    result = result * static_cast<double>(n - k + i) / static_cast<double>(i);
  return result;
}

// Every way to deal the hits out, by their exact numbers.
double fisher_by_hand(Index k1, Index n1, Index k2, Index n2) {
  const Index hits = k1 + k2;
  const auto ways = [&](Index k) { return choose(n1, k) * choose(n2, hits - k); };
  double sum = 0;
  for (Index k = std::max<Index>(0, hits - n2); k <= std::min(n1, hits); ++k)
    if (ways(k) <= ways(k1) * (1 + 1e-9)) sum += ways(k);
  return sum / choose(n1 + n2, hits);
}

TEST(FisherTest, CountsEveryTable) {
  for (Index n1 = 1; n1 <= 9; ++n1)
    for (Index n2 = 1; n2 <= 12; n2 += 2)
      for (Index k1 = 0; k1 <= n1; ++k1)
        for (Index k2 = 0; k2 <= n2; ++k2)
          EXPECT_CLOSE(fisher_test(k1, n1, k2, n2), fisher_by_hand(k1, n1, k2, n2), 1e-9);
}

// The figures of scipy.stats.fisher_exact (1.17.1).
TEST(FisherTest, AgreesWithScipyOnLargeTables) {
  EXPECT_CLOSE(fisher_test(2243, 5203, 1070, 4797), 1.0012110067313672e-109, 1e-8);
  EXPECT_CLOSE(fisher_test(16, 942, 281, 7742), 0.0011741023374586055, 1e-8);
  EXPECT_CLOSE(fisher_test(30, 100, 1200, 7742), 0.00025840784295282456, 1e-8);
  EXPECT_EQ(fisher_test(0, 0, 3, 5), 1);
  EXPECT_EQ(fisher_test(50, 100, 50, 100), 1);
  EXPECT_ERROR(fisher_test(3, 2, 0, 5), ErrorKind::bad_option, "not shares");
  // Far out in the tail, and with a million rows: no overflow, no long loop.
  EXPECT_GE(fisher_test(0, 500000, 500000, 500000), 0);
  EXPECT_CLOSE(fisher_test(250100, 500000, 249900, 500000), 0.6906302063508798, 1e-7);
}

Scored made_up_scores(Index rows, std::uint64_t seed) {
  Rng rng(seed, "scores");
  Scored scored;
  scored.p.resize(rows, 2);
  scored.favorable = 1;
  for (Index i = 0; i < rows; ++i) {
    scored.p(i, 1) = rng.uniform();
    scored.p(i, 0) = 1 - scored.p(i, 1);
    scored.y.push_back(rng.below(3) == 0 ? 1 : 0);
  }
  scored.decision = decide(scored.p, .5);
  return scored;
}

// A scan of a table whose rows have these answers and labels.
ScanReport scan_scored(Table table, const Scored& scored, const Task& task,
                       const ScanOptions& options = {}) {
  Column p{.name = "p"};
  Column y{.name = "y", .kind = ColumnKind::category, .levels = {"no", "yes"}};
  y.codes = scored.y;
  for (Index i = 0; i < scored.rows(); ++i) {
    const bool yes = scored.decision[static_cast<std::size_t>(i)] == 1;
    const double told = scored.p(i, 1);
    p.numbers.push_back(yes == (told >= .5) ? told : yes ? 1 : 0);
  }
  table.columns.push_back(p);
  if (scored.labelled()) table.columns.push_back(y);
  return scan(ScoresSource(task), DataSource::table(table), options, {});
}

Column category(const std::string& name, Index values, Index rows, Rng& rng) {
  Column column{.name = name, .kind = ColumnKind::category};
  for (Index v = 0; v < values; ++v) column.levels.push_back(name + std::to_string(v));
  for (Index i = 0; i < rows; ++i)
    column.codes.push_back(static_cast<std::int32_t>(rng.below(values)));
  return column;
}

Task scan_task() {
  Task task;
  task.label = "y";
  task.classes = {"no", "yes"};
  task.favorable = "yes";
  return task;
}

// Columns that were dealt out at random differ by chance alone: at most one scan in twenty
// may find something, whatever the number of columns, intersections and rates.
TEST(Scan, RandomColumnsAreRarelyAFinding) {
  int found = 0;
  constexpr int kRuns = 300;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    Rng rng(run, "columns");
    Table table;
    table.source = "random";
    for (const Index values : {2, 2, 3, 5, 8})
      table.columns.push_back(
          category("c" + std::to_string(table.columns.size()), values, 1500, rng));
    Column number{.name = "n"};
    for (int i = 0; i < 1500; ++i) number.numbers.push_back(rng.normal());
    table.columns.push_back(number);
    const ScanReport report = scan_scored(table, made_up_scores(1500, run), scan_task());
    EXPECT_EQ(report.columns.size(), 6U);
    EXPECT_EQ(report.intersections.size(), 15U);
    Index findings = 0;
    for (const auto* list : {&report.columns, &report.intersections})
      for (const ScanSuspect& s : *list) findings += s.findings;
    found += findings > 0;
  }
  EXPECT_LE(found, kRuns / 20);
}

// The other side of the coin: what was put in is found, named and ranked first.
TEST(Scan, ACellThatIsAnsweredOtherwiseIsFound) {
  const Index rows = 6000;
  Rng rng(4, "columns");
  Table table;
  table.source = "made-up";
  for (const char* name : {"a", "b", "c"})
    table.columns.push_back(category(name, 2, rows, rng));
  Scored scored = made_up_scores(rows, 1);
  for (Index i = 0; i < rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // a1 x b1 is refused more often; neither column tells it alone as well.
    if (table.columns[0].codes[at] == 1 && table.columns[1].codes[at] == 1 &&
        rng.below(2) == 0)
      scored.decision[at] = 0;
  }
  const ScanReport report = scan_scored(table, scored, scan_task());
  ASSERT_FALSE(report.intersections.empty());
  const ScanSuspect& first = report.intersections[0];
  EXPECT_EQ(first.name, "a x b");
  ASSERT_NE(first.widest(), nullptr);
  EXPECT_EQ(first.widest()->group, "a1 x b1");
  EXPECT_GT(first.beyond, 0.05);
  EXPECT_EQ(report.columns[2].name, "c");
  EXPECT_EQ(report.columns[2].widest(), nullptr);
  const std::string text = screen(sheet_of(report));
  EXPECT_NE(text.find("a x b: a1 x b1"), std::string::npos) << text;
  EXPECT_NE(text.find("A difference is not a wrong"), std::string::npos);
}

// Against counting each rate of each group by hand, with Holm over the whole list.
TEST(Scan, FiguresAreThoseCountedByHand) {
  const Index rows = 2000;
  Rng rng(9, "columns");
  Table table;
  table.source = "made-up";
  table.columns = {category("a", 3, rows, rng)};
  const Scored scored = made_up_scores(rows, 7);
  const ScanReport report = scan_scored(table, scored, scan_task());
  ASSERT_EQ(report.columns.size(), 1U);
  EXPECT_EQ(report.tests, 6);  // 3 rates x 2 groups
  const auto share = [&](std::int32_t group, const std::string& rate) {
    Index hits = 0, of = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      if (table.columns[0].codes[i] != group) continue;
      if (rate == "tpr" && scored.y[i] != 1) continue;
      if (rate == "fpr" && scored.y[i] != 0) continue;
      ++of;
      hits += scored.decision[i] == 1;
    }
    return std::pair{hits, of};
  };
  for (const ScanGap& gap : report.columns[0].worst) {
    const auto group = [](const std::string& name) { return name.back() - '0'; };
    const auto own = share(group(gap.group), gap.rate),
               other = share(group(gap.reference), gap.rate);
    EXPECT_EQ(gap.rows, own.second);
    EXPECT_CLOSE(gap.group_rate,
                 static_cast<double>(own.first) / static_cast<double>(own.second), 1e-12);
    const Interval expected = newcombe(other.first, other.second, own.first, own.second,
                                       adjusted_confidence(.95, report.tests));
    EXPECT_CLOSE(gap.difference.value, expected.value, 1e-12);
    EXPECT_CLOSE(gap.difference.low, expected.low, 1e-12);
    EXPECT_CLOSE(gap.p_value, fisher_test(own.first, own.second, other.first, other.second),
                 1e-12);
    EXPECT_GE(gap.adjusted, gap.p_value);
  }
}

TEST(Scan, FlipsAndSlopesAreThoseOfTheAudit) {
  const Table table = test::number_of_columns(3000, 2);
  const Model model =
      train_model(test::number_of_columns(2000, 1), test::made_up_task(), "", {}, {}).model;
  Study study = make_study(model, table, model.task, false, {});
  const ModelInMemory source(model);
  const ScanReport report = scan(source, DataSource::table(table), {}, {});
  const AuditReport audit = fmd::audit(source, DataSource::table(table), {}, {});
  for (const ScanSuspect& s : report.columns) {
    ASSERT_TRUE(s.flip) << s.name;
    if (s.name == "x") {
      EXPECT_EQ(s.flip->kind, "slope");
      const Attribute x = read_attribute(table, {.name = "x", .quantiles = 4});
      EXPECT_EQ(s.cuts, x.cuts);
      EXPECT_CLOSE(s.flip->change.value,
                   measure_slope(model, study, x, {}, {})->per_deviation.value, 1e-10);
    } else {
      EXPECT_CLOSE(s.flip->change.value, audit.find(s.name)->flip->co_tv.value, 1e-10);
      EXPECT_CLOSE(s.flip->flip_rate, audit.find(s.name)->flip->flip_rate.value, 1e-10);
    }
  }
}

TEST(Scan, BlocksMergeToTheWhole) {
  Rng rng(2, "codes");
  const Index rows = 1000;
  std::vector<std::vector<std::int32_t>> all(3);
  std::vector<std::uint8_t> outcome;
  for (Index i = 0; i < rows; ++i) {
    for (std::size_t s = 0; s < 3; ++s)
      all[s].push_back(static_cast<std::int32_t>(rng.below(5)) - 1);
    outcome.push_back(static_cast<std::uint8_t>(rng.below(6)));
  }
  ScanCounts whole({4, 4, 4}), parts({4, 4, 4});
  whole.add(all, outcome, {});
  for (Index first = 0; first < rows; first += 300) {
    const auto last = std::min(rows, first + 300);
    ScanCounts part({4, 4, 4});
    std::vector<std::vector<std::int32_t>> some(3);
    for (std::size_t s = 0; s < 3; ++s)
      some[s].assign(all[s].begin() + first, all[s].begin() + last);
    part.add(some,
             std::span(outcome).subspan(static_cast<std::size_t>(first),
                                        static_cast<std::size_t>(last - first)),
             {});
    ByteWriter out;
    part.save(out);
    ByteReader in(out.bytes());
    parts.merge(ScanCounts::load(in));
  }
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_TRUE(std::ranges::equal(whole.one(a), parts.one(a)));
    for (std::size_t b = a + 1; b < 3; ++b)
      EXPECT_TRUE(std::ranges::equal(whole.two(a, b), parts.two(a, b)));
  }
  // By hand.
  Index count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
    count += all[1][i] == 2 && all[2][i] == 3 && outcome[i] == 4;
  EXPECT_EQ(whole.two(1, 2)[(2 * 4 + 3) * 6 + 4], count);
  EXPECT_ERROR(parts.merge(ScanCounts({4, 4})), ErrorKind::bad_shape, "other columns");
  ByteWriter out;
  whole.save(out);
  ByteReader cut(std::span(out.bytes()).first(out.bytes().size() - 9));
  EXPECT_ERROR(ScanCounts::load(cut), ErrorKind::bad_model, "state");
}

TEST(Scan, WithoutLabelsOnlyAnswersAreCompared) {
  Rng rng(9, "columns");
  Table table;
  table.source = "made-up";
  table.columns = {category("a", 3, 2000, rng)};
  Scored scored = made_up_scores(2000, 7);
  scored.y.clear();
  const ScanReport report = scan_scored(table, scored, scan_task());
  EXPECT_EQ(report.tests, 2);
  EXPECT_EQ(report.columns[0].worst.size(), 1U);
  EXPECT_NE(to_json(report).find("no labels"), std::string::npos);
  Task none = scan_task();
  none.classes.emplace_back("perhaps");  // of many classes none is good by itself
  none.favorable.clear();
  EXPECT_ERROR(scan_scored(table, scored, none), ErrorKind::bad_option, "--favorable");
}

TEST(Scan, SaysWhichColumnsItLeavesOut) {
  std::string text = "id,one,many,flag,n,p,y\n";
  for (int i = 0; i < 400; ++i)
    text += "k" + std::to_string(i) + ",same,v" + std::to_string(i % 30) + "," +
            (i % 7 == 0   ? "?"
             : i % 2 == 0 ? "a"
                          : "b") +
            "," + std::to_string(i % 5) + "," + (i % 3 == 0 ? "0.9" : "0.1") + "," +
            (i % 2 == 0 ? "yes" : "no") + "\n";
  const Table table = parse_csv(text, "x.csv", {});
  const Task task = scan_task();
  const auto look = [&](const ScanOptions& options) {
    return scan(ScoresSource(task), DataSource::table(table), options, {});
  };
  const ScanReport report = look({});
  ASSERT_EQ(report.columns.size(), 2U);
  for (const ScanSuspect& s : report.columns)
    EXPECT_EQ(s.groups, s.name == "flag" ? 3 : 5);  // a, b and (missing); 0 to 4
  ASSERT_EQ(report.left_out.size(), 3U);
  EXPECT_EQ(report.left_out[0].reason, "more than 256 values");
  EXPECT_EQ(report.left_out[1].reason, "one value");
  EXPECT_EQ(report.left_out[2].reason, "30 values");
  const ScanReport named = look({.columns = {"many"}});
  EXPECT_EQ(named.columns.size(), 1U);
  EXPECT_ERROR(look({.columns = {"y"}}), ErrorKind::bad_option, "is the label");
  EXPECT_ERROR(look({.columns = {"fla"}}), ErrorKind::missing_column, "fla");
  EXPECT_ERROR(look({.columns = {"one"}}), ErrorKind::bad_data, "no column divides");
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["command"], "scan");
  EXPECT_EQ(json["comparisons"], report.tests);
}

// One column of two groups: its three comparisons are all there are.
TEST(Scan, AdjustsAsItIsAsked) {
  Rng rng(5, "adjust");
  Table table;
  table.source = "two groups";
  table.columns.push_back(category("c", 2, 1000, rng));
  Scored scored = made_up_scores(1000, 6);
  for (Index i = 0; i < 1000; i += 7)  // favours one group a little
    if (table.columns[0].codes[static_cast<std::size_t>(i)] == 1) scored.p(i, 1) = 0.9;
  scored.decision = decide(scored.p, .5);
  for (const Adjust how : {Adjust::holm, Adjust::bh, Adjust::none}) {
    ScanOptions options;
    options.adjust = how;
    const ScanReport report = scan_scored(table, scored, scan_task(), options);
    ASSERT_EQ(report.tests, 3);
    const std::vector<ScanGap>& gaps = report.columns[0].worst;
    ASSERT_EQ(gaps.size(), 3u);
    std::vector<double> p;
    for (const ScanGap& gap : gaps) p.push_back(gap.p_value);
    const std::vector<double> expected = how == Adjust::holm ? holm(p)
                                         : how == Adjust::bh ? benjamini_hochberg(p)
                                                             : p;
    Index findings = 0;
    for (const double q : expected) findings += q <= 0.05;
    ASSERT_GT(findings, 0);
    const double confidence = how == Adjust::holm ? adjusted_confidence(0.95, 3)
                              : how == Adjust::bh
                                  ? 1 - 0.05 * static_cast<double>(findings) / 3
                                  : 0.95;
    for (std::size_t k = 0; k < 3; ++k) {
      const ScanGap& gap = gaps[k];
      EXPECT_EQ(gap.adjusted, expected[k]);
      EXPECT_EQ(gap.finding, expected[k] <= 0.05);
      const auto hits = [](double rate, Index rows) {
        return static_cast<Index>(std::lround(rate * static_cast<double>(rows)));
      };
      const Interval interval =
          newcombe(hits(gap.reference_rate, gap.reference_rows), gap.reference_rows,
                   hits(gap.group_rate, gap.rows), gap.rows, confidence);
      EXPECT_CLOSE(gap.difference.low, interval.low, 1e-12);
    }
    const std::string words = how == Adjust::holm ? "Holm"
                              : how == Adjust::bh ? "Benjamini-Hochberg"
                                                  : "adjusted:";
    EXPECT_NE(screen(sheet_of(report)).find(words), std::string::npos);
    EXPECT_NE(to_json(report).find(how == Adjust::holm ? "\"holm\""
                                   : how == Adjust::bh ? "\"bh\""
                                                       : "\"none\""),
              std::string::npos);
  }
}

// Where the task asks for smaller groups, cells under ten rows still are not compared.
TEST(Scan, LeavesSmallCellsOut) {
  Rng rng(5, "small");
  Table table;
  table.source = "small groups";
  table.columns.push_back(category("c", 2, 1000, rng));
  for (Index i = 0; i < 5; ++i) table.columns[0].codes[static_cast<std::size_t>(i)] = 2;
  table.columns[0].levels.push_back("five");
  Task task = scan_task();
  task.min_group = 1;
  task.min_label = 1;
  const Scored scored = made_up_scores(1000, 6);
  EXPECT_EQ(scan_scored(table, scored, task).columns[0].compared, 2);
  ScanOptions all;
  all.include_rows = true;
  EXPECT_EQ(scan_scored(table, scored, task, all).columns[0].compared, 3);
}

}  // namespace
}  // namespace fmd
