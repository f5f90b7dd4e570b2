#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/glob.h"
#include "fmd/core/error.h"
#include "fmd/data/attribute.h"
#include "fmd/data/encoder.h"
#include "fmd/data/pair_plan.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using test::parse;
using Texts = std::vector<std::string>;

// 100 rows; in `odd` of them sex_f disagrees.
Table people(int odd) {
  std::string text = "sex,sex_f,title,age,pay\n";
  for (int i = 0; i < 100; ++i) {
    const bool male = i % 2 == 0;
    const bool said = i < odd ? male : !male;
    text += fmt::format("{},{},{},{},{}\n", male ? "M" : "F", said ? 1 : 0,
                        male         ? "Mr"
                        : i % 4 == 1 ? "Ms"
                                     : "Mrs",
                        20 + i % 7, i * 1.5);
  }
  return parse(text);
}

const Texts kPeopleColumns = {"sex", "sex_f", "title", "age", "pay"};

TEST(Mirrors, AreFoundAndFlippedTogether) {
  const Table table = people(0);
  const Attribute sex = read_attribute(table, {.name = "sex"}, kPeopleColumns);
  ASSERT_EQ(sex.mirrors.size(), 2U);
  EXPECT_EQ(sex.mirrors[0].column, "sex_f");
  EXPECT_TRUE(sex.mirrors[0].flipped);
  EXPECT_EQ(sex.mirrors[1].column, "title");
  EXPECT_FALSE(sex.mirrors[1].flipped);
  EXPECT_EQ(sex.columns, (Texts{"sex", "sex_f"}));
  EXPECT_EQ(sex.code, read_attribute(table, {.name = "sex"}).code);
  const Table flipped = flipped_rows(table, sex, flip_plan(sex));
  for (Index row = 0; row < flipped.rows(); ++row) {
    EXPECT_NE(flipped.columns[0].text(row), table.columns[0].text(row));
    EXPECT_EQ(flipped.columns[1].text(row),
              flipped.columns[0].text(row) == "F" ? "1" : "0");
    EXPECT_EQ(flipped.columns[2].text(row), table.columns[2].text(row));
  }
  ASSERT_EQ(notes_of(sex).size(), 2U);
  EXPECT_EQ(notes_of(sex)[0], "sex: sex_f says the same; it is flipped with it");
}

TEST(Mirrors, MayHaveAFewExceptions) {
  // One of 50 rows of a value is 2 %.
  EXPECT_EQ(read_attribute(people(1), {.name = "sex"}, {"sex_f"}).mirrors.size(), 0U);
  std::string text = "a,b\n0,1\n";
  for (int i = 0; i < 400; ++i) text += fmt::format("{},{}\n", i % 2, i % 2);
  const Attribute a = read_attribute(parse(text), {.name = "a"}, {"a", "b"});
  ASSERT_EQ(a.mirrors.size(), 1U);
  EXPECT_EQ(a.mirrors[0].exceptions, 1);
  EXPECT_TRUE(a.mirrors[0].flipped);
}

TEST(Mirrors, AreTheSameForAnyBlocks) {
  const Table table = people(0);
  AttributeSurvey parts({.name = "sex"}, 1, kPeopleColumns);
  for (Index first = 0; first < 100; first += 7) {
    std::vector<Index> rows;
    for (Index row = first; row < std::min<Index>(first + 7, 100); ++row)
      rows.push_back(row);
    parts.add(select(table, rows));
  }
  const Attribute whole = read_attribute(table, {.name = "sex"}, kPeopleColumns);
  const Attribute joined = parts.finish();
  EXPECT_EQ(joined.columns, whole.columns);
  ASSERT_EQ(joined.mirrors.size(), whole.mirrors.size());
  EXPECT_EQ(joined.mirrors[1].column, whole.mirrors[1].column);
}

TEST(Mirrors, AreNotColumnsThatHaveOneRowPerValue) {
  const Attribute sex = read_attribute(people(0), {.name = "sex"}, {"pay", "age"});
  EXPECT_TRUE(sex.mirrors.empty());
  EXPECT_EQ(sex.own, 0U);
}

TEST(OneHot, ColumnsAreOneAttribute) {
  const Table table = parse(
      "race_a,race_b,race_c,x\n1,0,0,5\n0,1,0,6\n0,1,0,7\n0,0,1,8\n0,0,0,9\n1,1,0,10\n");
  const Attribute race = read_attribute(table, {.name = "race", .one_hot = {"race_*"}});
  EXPECT_EQ(race.values, (Texts{"b", "a", "c"}));
  EXPECT_EQ(race.columns, (Texts{"race_a", "race_b", "race_c"}));
  EXPECT_EQ(race.code, (std::vector<std::int32_t>{1, 0, 0, 2, -1, -1}));
  EXPECT_EQ(race.odd_rows, 2);
  const Table flipped = flipped_rows(table, race, flip_plan(race));
  EXPECT_EQ(flipped.rows(), 8);
  for (Index row = 0; row < flipped.rows(); ++row) {
    double set = 0;
    for (std::size_t c = 0; c < 3; ++c)
      set += flipped.columns[c].numbers[static_cast<std::size_t>(row)];
    EXPECT_EQ(set, 1);
  }
  EXPECT_EQ(notes_of(race)[0],
            "race: 2 rows have none or several of its columns set; left out");
  EXPECT_ERROR(read_attribute(table, {.name = "race", .one_hot = {"ethnic_*"}}),
               ErrorKind::bad_task, "0 column(s) of x.csv fit one_hot ethnic_*");
}

TEST(OneHot, MayBeWrittenAsTruthValues) {
  const Table table = parse("is_m,is_f\nTrue,False\nFalse,True\n");
  const Attribute sex = read_attribute(table, {.name = "sex", .one_hot = {"is_m", "is_f"}});
  EXPECT_EQ(sex.values, (Texts{"f", "m"}));
  EXPECT_EQ(sex.code, (std::vector<std::int32_t>{1, 0}));
  EXPECT_ERROR(
      read_attribute(parse("a_x,a_y\nup,down\n"), {.name = "a", .one_hot = {"a_*"}}),
      ErrorKind::bad_task, "0 and 1 are needed");
}

TEST(OneHot, IsReadFromFlagsAndTaskFilesAndKept) {
  const AttributeSpec flag = parse_one_hot("race=race_*,other");
  EXPECT_EQ(flag.name, "race");
  EXPECT_EQ(flag.one_hot, (Texts{"race_*", "other"}));
  EXPECT_ERROR(parse_one_hot("race"), ErrorKind::bad_option, "must be NAME=COLUMNS");
  const Task task =
      merge({}, parse_task("missing = [\"-9\"]\n[[attributes]]\nname = \"race\"\n"
                           "one_hot = [\"race_*\"]\n",
                           "task.toml"));
  EXPECT_EQ(task.attributes[0].one_hot, Texts{"race_*"});
  EXPECT_TRUE(task.attributes[0].columns.empty());
  EXPECT_EQ(task.missing, Texts{"-9"});
  EXPECT_EQ(task_from_json(to_json(task), "m"), task);
  TaskOverrides flags;
  flags.one_hot = Texts{"race=race_*"};
  EXPECT_EQ(merge({}, flags).attributes, task.attributes);
}

TEST(UnseenValues, AreLeftOutOfFlips) {
  Attribute race;
  race.values = {"a", "b", "c"};
  race.cells = {{{"a", 0}}, {{"b", 0}}, {{"c", 0}}};
  race.code = {0, 1, 2, 0};
  race.unseen = {false, false, true};
  const PairPlan plan = flip_plan(race);
  EXPECT_EQ(plan.row, (std::vector<Index>{0, 1, 3}));
  EXPECT_EQ(plan.to, (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(plan.weight, (std::vector<float>{1, 1, 1}));
}

TEST(Glob, StarsStandForAnyText) {
  EXPECT_TRUE(internal::fits_glob("race_a", "race_*"));
  EXPECT_TRUE(internal::fits_glob("race_", "race_*"));
  EXPECT_TRUE(internal::fits_glob("a.b.c", "a*c"));
  EXPECT_TRUE(internal::fits_glob("xaybz", "*a*b*"));
  EXPECT_FALSE(internal::fits_glob("race", "race_*"));
  EXPECT_FALSE(internal::fits_glob("ab", "a*ab"));
  EXPECT_TRUE(internal::fits_glob("a*b", "a*b"));
}

}  // namespace
}  // namespace fmd
