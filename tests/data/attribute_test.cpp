#include "fmd/data/attribute.h"

#include <gtest/gtest.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/data/csv.h"
#include "fmd/data/pair_plan.h"
#include "support/close.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;
using Codes = std::vector<std::int32_t>;

Table parse(const std::string& text) { return parse_csv(text, "x.csv"); }

const std::string kPeople = "sex,race,age\nF,b,1\nM,a,2\nF,?,1\nF,a,1\n?,b,3\n";

TEST(Attribute, TheLargestGroupComesFirst) {
  const Attribute sex = read_attribute(parse(kPeople), {.name = "sex"});
  EXPECT_EQ(sex.values, (Texts{"F", "M"}));
  EXPECT_EQ(sex.code, (Codes{0, 1, 0, 0, -1}));
  EXPECT_EQ(sex.counts(), (std::vector<Index>{3, 1}));
  EXPECT_EQ(sex.columns, (Texts{"sex"}));
  EXPECT_EQ(sex.cells[1][0].text, "M");
  EXPECT_EQ(sex.reference, -1);
  // Ties go by text.
  EXPECT_EQ(read_attribute(parse(kPeople), {.name = "race"}).values, (Texts{"a", "b"}));
}

TEST(Attribute, NamedValuesRestrictAndMayBeAbsent) {
  const Table table = parse("race\na\nb\nc\nc\n");
  const Attribute race =
      read_attribute(table, {.name = "race", .values = {"a", "c", "z"}, .reference = "c"});
  EXPECT_EQ(race.values, (Texts{"c", "a", "z"}));
  EXPECT_EQ(race.code, (Codes{1, -1, 0, 0}));
  EXPECT_EQ(race.reference, 0);
  EXPECT_EQ(race.counts()[2], 0);
}

TEST(Attribute, NumbersNeedNamedValues) {
  const Table table = parse(kPeople);
  EXPECT_ERROR(
      read_attribute(table, {.name = "age"}), ErrorKind::bad_task,
      "column \"age\" of x.csv has 3 different numbers; which of them are groups must "
      "be said by values, quantiles or cuts");
  EXPECT_ERROR(read_attribute(table, {.name = "age"}), ErrorKind::bad_task,
               "--attribute age:4");
  EXPECT_ERROR(read_attribute(table, {.name = "age"}), ErrorKind::bad_task,
               "values = [\"1\", \"2\", \"3\"]");
  const Attribute age = read_attribute(table, {.name = "age", .values = {"3", "1.0"}});
  EXPECT_EQ(age.values, (Texts{"1", "3"}));
  EXPECT_EQ(age.cells[1][0].number, 3);
  EXPECT_EQ(age.code, (Codes{0, -1, 0, 0, 1}));
  EXPECT_ERROR(read_attribute(table, {.name = "age", .values = {"x", "1"}}),
               ErrorKind::bad_task, "value \"x\" is not a number");
}

TEST(Attribute, SeveralColumnsAreJoined) {
  const Table table = parse(kPeople);
  const Attribute both =
      read_attribute(table, {.name = "both", .columns = {"sex", "race"}});
  EXPECT_EQ(both.values, (Texts{"F / a", "F / b", "M / a"}));
  EXPECT_EQ(both.code, (Codes{1, 2, -1, 0, -1}));
  EXPECT_EQ(both.cells[2][1].text, "a");
  const Attribute named = read_attribute(
      table, {.name = "both", .columns = {"sex", "age"}, .values = {"F / 1", "M / 2.0"}});
  EXPECT_EQ(named.code, (Codes{0, 1, 0, 0, -1}));
  EXPECT_ERROR(
      read_attribute(table,
                     {.name = "both", .columns = {"sex", "race"}, .values = {"F", "M"}}),
      ErrorKind::bad_task, "value \"F\" has 1 part(s), its 2 columns need 2");
}

TEST(Attribute, ErrorsSayWhatIsMissing) {
  const Table table = parse("sex,one,none\nF,x,?\nM,x,?\n");
  EXPECT_ERROR(read_attribute(table, {.name = "seks"}), ErrorKind::missing_column,
               "\"seks\"");
  EXPECT_ERROR(read_attribute(table, {.name = "one"}), ErrorKind::bad_data,
               "every row has the value \"x\", two values are needed");
  EXPECT_ERROR(read_attribute(table, {.name = "sex", .values = {"X", "Y"}}),
               ErrorKind::bad_data, "no row has one of the values \"X\", \"Y\"");
  EXPECT_ERROR(read_attribute(table, {.name = "sex", .reference = "X"}),
               ErrorKind::bad_task, "reference \"X\" is none of its values \"F\", \"M\"");
  EXPECT_ERROR(read_attribute(table, {.name = "sex", .values = {"F", "F"}}),
               ErrorKind::bad_task, "named twice");
  std::string ids = "id\n";
  for (int i = 0; i < 300; ++i) ids += "k" + std::to_string(i) + "\n";
  EXPECT_ERROR(read_attribute(parse(ids), {.name = "id"}), ErrorKind::bad_data,
               "more than 256 different values");
}

TEST(Attribute, RowsWithoutItAreAGroupButNoValue) {
  const Attribute sex = read_attribute(parse(kPeople), {.name = "sex"});
  EXPECT_EQ(sex.groups, (Texts{"F", "M", "(missing)"}));
  EXPECT_EQ(sex.group, (Codes{0, 1, 0, 0, 2}));
  EXPECT_EQ(sex.missing, 1);
  EXPECT_EQ(sex.values.size(), 2U);
  // Of the rows that are not compared only those without a value are in it.
  const Attribute race =
      read_attribute(parse("r\na\n?\nb\nc\n"), {.name = "r", .values = {"a", "b"}});
  EXPECT_EQ(race.group, (Codes{0, 2, 1, -1}));
  EXPECT_EQ(race.code, (Codes{0, -1, 1, -1}));
  const Attribute all = read_attribute(parse("r\na\nb\n"), {.name = "r"});
  EXPECT_EQ(all.groups, all.values);
  EXPECT_EQ(all.group, all.code);
}

TEST(Attribute, CutsGiveRangesThatBeginAtThem) {
  const Table table = parse("age\n24.9\n25\n44\n45\n?\n90\n-3\n");
  const Attribute age = read_attribute(table, {.name = "age", .cuts = {25, 45, 99}});
  EXPECT_EQ(age.values, (Texts{"under 25", "25 to 45", "45 to 99", "99 and over"}));
  EXPECT_EQ(age.code, (Codes{0, 1, 1, 2, -1, 2, 0}));
  EXPECT_EQ(age.group, (Codes{0, 1, 1, 2, 4, 2, 0}));
  EXPECT_FALSE(age.flips());
  EXPECT_ERROR(flip_plan(age), ErrorKind::bad_task, "no one value to flip to");
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

TEST(JoinGroups, AddsTheColumnsOfTheKey) {
  const Table table = parse("id,x\n2,a\n1,b\n2,c\n");
  const Table joined =
      join_groups(table, parse_csv("sex,x,id\nF,z,1\nM,z,2\nF,z,9\n", "g.csv"), "id");
  EXPECT_EQ(to_csv(joined), "id,x,sex\n2,a,M\n1,b,F\n2,c,M\n");
}

TEST(JoinGroups, BadKeysAreNamed) {
  const Table table = parse("id\n1\n2\n");
  const auto join = [&table](const std::string& text) {
    return join_groups(table, parse_csv(text, "g.csv"), "id");
  };
  EXPECT_ERROR(join("id,s\n1,F\n"), ErrorKind::bad_data,
               "x.csv, line 3, column \"id\": no row of g.csv has \"2\"");
  EXPECT_ERROR(join("id,s\n1,F\n2,F\n1,M\n"), ErrorKind::bad_data,
               "g.csv, line 4, column \"id\": \"1\" stands in g.csv, line 2 already");
  EXPECT_ERROR(join("id,s\n1,F\n,F\n"), ErrorKind::bad_data,
               "g.csv, line 3, column \"id\"");
  EXPECT_ERROR(join("key,s\n1,F\n"), ErrorKind::missing_column, "g.csv: no column \"id\"");
}

TEST(JoinGroups, TextKeysAreNotNumbers) {
  const CsvOptions text{.types = {{"id", ColumnKind::category}}};
  const Table table = parse_csv("id\n007\n7\n", "x.csv", text);
  const Table groups = parse_csv("id,s\n7,a\n007,b\n", "g.csv", text);
  EXPECT_EQ(to_csv(join_groups(table, groups, "id")), "id,s\n007,b\n7,a\n");
}

TEST(FlipPlan, PairsEveryKnownRowWithEveryOtherValue) {
  const Attribute race = read_attribute(parse("r\na\n?\nb\nc\na\n"), {.name = "r"});
  const PairPlan plan = flip_plan(race);
  EXPECT_EQ(plan.row, (std::vector<Index>{0, 0, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(plan.from, (Codes{0, 0, 1, 1, 2, 2, 0, 0}));
  EXPECT_EQ(plan.to, (Codes{1, 2, 0, 2, 0, 1, 1, 2}));
  EXPECT_EQ(plan.weight, std::vector<float>(8, 0.5F));
  EXPECT_EQ(flip_plan(race, std::vector<Index>{1, 3}).row, (std::vector<Index>{3, 3}));
}

TEST(FlippedTable, HasOneRowPerPair) {
  const Table table = parse("r,n,x\na,1,p\nb,2,q\n");
  const Attribute both = read_attribute(
      table, {.name = "r", .columns = {"r", "n"}, .values = {"a / 1", "z / 3"}});
  const Table flipped = flipped_table(table, both, flip_plan(both));
  EXPECT_EQ(to_csv(flipped), "fmd_row,fmd_from,fmd_to,r,n,x\n1,a / 1,z / 3,z,3,p\n");
  EXPECT_EQ(flipped.where(0), "x.csv, line 2");
  EXPECT_ERROR(flipped_table(flipped, both, flip_plan(both)), ErrorKind::bad_data,
               "has a column \"fmd_row\" already");
}

TEST(JoinPairs, FindsThePartner) {
  const GivenPairs pairs =
      join_pairs(parse("id\n3\n1\n2\n"), parse_csv("id\n1\n2\n3\n", "g.csv"), "id");
  EXPECT_EQ(pairs.row, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(pairs.other, (std::vector<Index>{2, 0, 1}));
}

TEST(JoinPairs, EveryIdNeedsExactlyOnePartner) {
  const Table table = parse("id\n1\n2\n");
  EXPECT_ERROR(join_pairs(table, parse_csv("id\n1\n", "g.csv"), "id"), ErrorKind::bad_data,
               "x.csv, line 3, column \"id\": \"2\" has no partner in g.csv");
  // A file that serves other tables too is fine.
  const GivenPairs pairs = join_pairs(table, parse_csv("id\n3\n2\n1\n", "g.csv"), "id");
  EXPECT_EQ(pairs.other, (std::vector<Index>{2, 1}));
  EXPECT_ERROR(join_pairs(table, parse_csv("id\n1\n1\n2\n", "g.csv"), "id"),
               ErrorKind::bad_data, "\"1\" stands in g.csv, line 2 already");
}

}  // namespace
}  // namespace fmd
