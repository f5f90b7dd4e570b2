#include "fmd/data/attribute.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/data/pair_plan.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;
using Codes = std::vector<std::int32_t>;

using test::parse;

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
  const Table halves = parse("age\n1\n2\n2.5\n");
  EXPECT_ERROR(read_attribute(halves, {.name = "age"}), ErrorKind::bad_task,
               "column \"age\" of x.csv has 3 different numbers; name the groups by "
               "values, quantiles or cuts");
  EXPECT_ERROR(read_attribute(halves, {.name = "age"}), ErrorKind::bad_task,
               "--attribute age:4");
  EXPECT_ERROR(read_attribute(halves, {.name = "age"}), ErrorKind::bad_task,
               "values = [\"1\", \"2\", \"2.5\"]");
  const Table table = parse(kPeople);
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
               ErrorKind::bad_task,
               "reference \"X\" is not one of its values \"F\", \"M\"");
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
               "g.csv, line 4, column \"id\": \"1\" is already in g.csv, line 2");
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
               "already has a column \"fmd_row\"");
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
               ErrorKind::bad_data, "\"1\" is already in g.csv, line 2");
}

}  // namespace
}  // namespace fmd
