#include <gtest/gtest.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/data/attribute.h"
#include "fmd/data/csv.h"
#include "fmd/data/pair_plan.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;
using Codes = std::vector<std::int32_t>;

using test::parse;

TEST(Attribute, CutsGiveRangesThatBeginAtThem) {
  const Table table = parse("age\n24.9\n25\n44\n45\n?\n90\n-3\n");
  const Attribute age = read_attribute(table, {.name = "age", .cuts = {25, 45, 99}});
  EXPECT_EQ(age.values, (Texts{"under 25", "25 to 45", "45 to 99", "99 and over"}));
  EXPECT_EQ(age.code, (Codes{0, 1, 1, 2, -1, 2, 0}));
  EXPECT_EQ(age.group, (Codes{0, 1, 1, 2, 4, 2, 0}));
  EXPECT_FALSE(age.flips());
  EXPECT_ERROR(flip_plan(age), ErrorKind::bad_task, "no single value to flip to");
  const Attribute named =
      read_attribute(table, {.name = "age", .reference = "25 to 45", .cuts = {25, 45}});
  EXPECT_EQ(named.reference, 1);
  EXPECT_ERROR(read_attribute(parse("a\nx\ny\n"), {.name = "a", .cuts = {1}}),
               ErrorKind::bad_task, "has categories; ranges are for numbers");
}

TEST(Attribute, QuantilesDivideTheRowsEvenly) {
  std::string text = "n\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string((i * 617) % 1000) + "\n";
  const Attribute n = read_attribute(parse(text), {.name = "n", .quantiles = 4});
  EXPECT_EQ(n.cuts, (std::vector<double>{250, 500, 750}));
  EXPECT_EQ(n.values, (Texts{"under 250", "250 to 500", "500 to 750", "750 and over"}));
  EXPECT_EQ(n.counts(), (std::vector<Index>{250, 250, 250, 250}));
}

TEST(Attribute, EqualNumbersStayTogether) {
  const auto cuts = [](const std::string& text, Index quantiles) {
    return read_attribute(parse("n\n" + text), {.name = "n", .quantiles = quantiles}).cuts;
  };
  using Cuts = std::vector<double>;
  EXPECT_EQ(cuts("1\n1\n1\n2\n", 4), (Cuts{2}));
  EXPECT_EQ(cuts("1\n2\n2\n2\n", 4), (Cuts{2}));
  EXPECT_EQ(cuts("1\n2\n3\n", 10), (Cuts{2, 3}));
  EXPECT_EQ(cuts("5\n5\n5\n5\n5\n5\n1\n9\n", 2), (Cuts{5}));  // 1 and 7 rather than 7 and 1
  EXPECT_ERROR(cuts("3\n3\n?\n", 2), ErrorKind::bad_data, "every row has the number 3");
}

// Shares are as even as any cuts between different numbers allow: checked against all.
TEST(Attribute, TwoQuantilesAreTheBestOfAllCuts) {
  Rng rng(3, "quantiles");
  for (int round = 0; round < 200; ++round) {
    std::string text = "n\n";
    std::vector<double> numbers;
    for (int i = 0; i < 12; ++i) {
      numbers.push_back(static_cast<double>(rng.below(5)));
      text += number_text(numbers.back()) + "\n";
    }
    const auto off = [&](double cut) {
      const auto below =
          std::count_if(numbers.begin(), numbers.end(), [&](double x) { return x < cut; });
      return std::abs(static_cast<double>(below) - 6);
    };
    double best = 6;
    for (const double cut : numbers) best = std::min(best, off(cut));
    if (best == 6) continue;  // all are equal
    const Attribute n = read_attribute(parse(text), {.name = "n", .quantiles = 2});
    ASSERT_EQ(n.cuts.size(), 1U) << text;
    EXPECT_EQ(off(n.cuts[0]), best) << text;
  }
}

TEST(Attribute, BlocksGiveWhatTheWholeTableGives) {
  Rng rng(5, "blocks");
  std::string text = "sex,race,age\n";
  for (int i = 0; i < 500; ++i) {
    text += rng.below(9) == 0 ? "?" : rng.below(2) == 0 ? "F" : "M";
    text += "," + std::string(1, static_cast<char>('a' + rng.below(4))) + ",";
    text += rng.below(20) == 0 ? "?" : std::to_string(rng.below(70));
    text += "\n";
  }
  const Table whole = parse(text);
  for (const AttributeSpec& spec :
       std::vector<AttributeSpec>{{.name = "sex"},
                                  {.name = "both", .columns = {"sex", "race"}},
                                  {.name = "race", .values = {"a", "c", "z"}},
                                  {.name = "age", .values = {"3", "5"}},
                                  {.name = "age", .quantiles = 5},
                                  {.name = "age", .cuts = {18, 30, 99}}}) {
    const Attribute at_once = read_attribute(whole, spec);
    AttributeSurvey survey(spec);
    std::vector<Table> blocks;
    for (Index first = 0; first < 500; first += 77) {
      std::vector<Index> rows;
      for (Index row = first; row < std::min<Index>(500, first + 77); ++row)
        rows.push_back(row);
      // Read again, so that levels are numbered by each block.
      blocks.push_back(parse_csv(to_csv(select(whole, rows)), "x.csv",
                                 {.types = {{"sex", ColumnKind::category},
                                            {"race", ColumnKind::category},
                                            {"age", ColumnKind::number}}}));
      survey.add(blocks.back());
    }
    const Attribute surveyed = survey.finish();
    EXPECT_EQ(surveyed.groups, at_once.groups);
    EXPECT_EQ(surveyed.cuts, at_once.cuts);
    EXPECT_EQ(surveyed.missing, at_once.missing);
    Codes all, all_groups, code;
    for (const Table& block : blocks) {
      read_codes(surveyed, block, code);
      all.insert(all.end(), code.begin(), code.end());
      read_groups(surveyed, block, code);
      all_groups.insert(all_groups.end(), code.begin(), code.end());
    }
    EXPECT_EQ(all, at_once.code);
    EXPECT_EQ(all_groups, at_once.group);
  }
}

// Beyond a million rows the cuts are of a sample: near the true ones, the same each time.
TEST(Attribute, QuantilesOfManyRowsComeFromASample) {
  Table block{.source = "x", .columns = {{.name = "n"}}, .line = {}};
  AttributeSurvey first({.name = "n", .quantiles = 4}),
      again({.name = "n", .quantiles = 4});
  Rng rng(1, "numbers");
  for (int b = 0; b < 15; ++b) {
    block.columns[0].numbers.clear();
    // Later rows are larger: a sample that kept the first ones would be far off.
    for (int i = 0; i < 100000; ++i) block.columns[0].numbers.push_back(b + rng.uniform());
    first.add(block);
    again.add(block);
  }
  const Attribute n = first.finish();
  EXPECT_EQ(n.cuts, again.finish().cuts);
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(n.cuts[static_cast<std::size_t>(k)], 3.75 * (k + 1), 0.03);
}

}  // namespace
}  // namespace fmd
