#include "fmd/data/columns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/attribute.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using test::parse;

Task of_label(const std::string& label, std::vector<std::string> classes = {}) {
  Task task;
  task.label = label;
  task.classes = std::move(classes);
  return task;
}

std::string kinds(const ColumnsReport& report) {
  std::string text;
  for (const ColumnWarning& w : report.warnings)
    text += (text.empty() ? "" : " ") + w.column + ":" + w.kind;
  return text;
}

TEST(Columns, SayWhatEachColumnIsAndBecomes) {
  Table table = parse(
      "when,pay,own,job,y\n2020-01-01,\"$1,000\",yes,a,1\n"
      "2020-01-03,NA,no,b,0\n,$5.5,yes,c,1\n");
  const ColumnsReport report = settle_columns(table, of_label("y"), false);
  EXPECT_EQ(report.rows, 3);
  ASSERT_EQ(report.columns.size(), 5U);
  EXPECT_EQ(report.columns[0].type, "date");
  EXPECT_EQ(report.columns[0].example, "2020-01-01");
  EXPECT_EQ(report.columns[0].missing, 1);
  EXPECT_EQ(report.columns[0].features, 2);
  EXPECT_EQ(report.columns[1].type, "number");
  EXPECT_EQ(report.columns[1].example, "$1,000");
  EXPECT_EQ(report.columns[1].became,
            "2 features (one says \"missing\"): numbers, signs taken off");
  EXPECT_EQ(report.columns[2].type, "boolean");
  EXPECT_EQ(report.columns[2].features, 1);
  EXPECT_EQ(report.columns[3].features, 3);
  EXPECT_EQ(report.columns[4].became, "label");
  EXPECT_EQ(table.columns[0].numbers[1] - table.columns[0].numbers[0], 2);
  EXPECT_EQ(table.columns[1].numbers[0], 1000);
  EXPECT_EQ(kinds(report), "when:date");
}

TEST(Columns, ThatAreNearlyNumbersStop) {
  std::string text = "age,y\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},0\n", 20 + i);
  Table table = parse(text + "1x5,1\n");
  EXPECT_ERROR((void)settle_columns(table, of_label("y"), false), ErrorKind::bad_value,
               "x.csv, column \"age\": 60 of 61 cells are numbers, but not \"1x5\" (x.csv, "
               "line 62)");
  EXPECT_EQ(kinds(settle_columns(table, of_label("y"), true)), "age:odd_cells");
  Task task = of_label("y");
  task.types["age"] = ColumnKind::category;
  EXPECT_EQ(settle_columns(table, task, false).columns[0].features, 61);
}

TEST(Columns, ThatAreNearlyAmountsOrDatesStop) {
  std::string text = "pay;day;y\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{}.{:03},50 \u20ac;{:02}.{:02}.2021;0\n", 1 + i % 9, 17 * i % 1000,
                        1 + i % 28, 1 + i % 12);
  Table pay = parse(text + "ask me;01.01.2020;1\n");
  EXPECT_ERROR((void)settle_columns(pay, of_label("y"), false), ErrorKind::bad_value,
               "x.csv, column \"pay\": 60 of 61 cells are numbers, but not \"ask me\" "
               "(x.csv, line 62)");
  Table day = parse(text + "1.000,50 \u20ac;soon;1\n");
  EXPECT_ERROR((void)settle_columns(day, of_label("y"), false), ErrorKind::bad_value,
               "x.csv, column \"day\": 60 of 61 cells are dates, but not \"soon\" (x.csv, "
               "line 62)");
}

TEST(Columns, WithoutANameAreAnIndexAndLeftOut) {
  Table table = parse("\"\",x,y\n0,5,a\n1,7,b\n2,6,a\n");
  const ColumnsReport report = settle_columns(table, of_label("y"), false);
  EXPECT_EQ(report.left_out, std::vector<std::string>{"(unnamed)"});
  EXPECT_EQ(report.columns[0].became, "left out: has no name");
  EXPECT_EQ(kinds(report), "(unnamed):id");
}

TEST(Columns, WithOneOtherTextBesideManyNumbersStop) {
  std::string text = "age,y\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{},0\n", i % 3 == 0 ? "asked" : std::to_string(i));
  Table table = parse(text);
  EXPECT_ERROR(
      (void)settle_columns(table, of_label("y"), false), ErrorKind::bad_value,
      "x.csv, column \"age\": 40 of 60 cells are numbers, but not \"asked\" (x.csv, "
      "line 2)");
  // A few numbers among answers are answers.
  Table grades = parse("g,y\n1,0\n2,0\n3,0\n1,0\n2,1\n3,1\nnone of these,1\n");
  EXPECT_EQ(settle_columns(grades, of_label("y"), false).columns[0].type, "category");
}

TEST(Columns, WarnOfSentinelsSpellingsAndNumbersThatNameRows) {
  std::string text = "edu,age,case,zip,sex,hours,y\n";
  for (int i = 0; i < 120; ++i)
    text += fmt::format("{},{},{},{},{},{},{}\n", i % 10 == 0 ? 9 : 1 + i % 4,
                        i % 20 == 0 ? -9 : 20 + i % 50, i * 17 % 127, 10000 + i % 40 * 7,
                        i % 30 == 0 ? "female" : (i % 2 == 0 ? "Female" : "Male"),
                        i % 15 == 0 ? 999 : 20 + i % 30, i % 2);
  Table table = parse(text);
  const ColumnsReport report = settle_columns(table, of_label("y"), false);
  EXPECT_EQ(kinds(report),
            "edu:code age:sentinel case:id zip:code sex:spelling hours:sentinel");
  EXPECT_EQ(report.warnings[1].text,
            "-9 stands apart from the other numbers, in 6 rows; if it means \"missing\", "
            "write missing = [\"-9\"] in task.toml");
}

TEST(Columns, OfWholeNumbersAreGroupsWhenTheyAreAttributes) {
  const CsvOptions csv{.types = {{"sex", ColumnKind::category}}};
  Table table = parse("sex,y\n1.0,a\n2.0,b\nNA,a\n2.0,b\n", csv);
  Task task = of_label("y");
  task.attributes = {{.name = "sex", .columns = {"sex"}}};
  EXPECT_EQ(open_attribute_columns(task), std::vector<std::string>{"sex"});
  const ColumnsReport report = settle_columns(table, task, false);
  EXPECT_EQ(kinds(report), "sex:groups");
  EXPECT_EQ(table.columns[0].kind, ColumnKind::category);
  EXPECT_EQ(table.columns[0].notation, Notation::codes);
  EXPECT_EQ(table.columns[0].missing, 1);
  EXPECT_EQ(read_attribute(table, task.attributes[0]).values,
            (std::vector<std::string>{"2.0", "1.0"}));
  // A quantity stays one.
  Table ages = parse("sex,y\n1.5,a\n2.0,b\n", csv);
  (void)settle_columns(ages, task, false);
  EXPECT_EQ(ages.columns[0].kind, ColumnKind::number);
}

TEST(Columns, OfFreeTextAreLeftOutUnlessTheyAreNamed) {
  std::string text = "note,y\n";
  for (int i = 0; i < 40; ++i)
    text += fmt::format("the customer number {} said this,{}\n", i, i % 2);
  Table table = parse(text);
  Task task = of_label("y");
  const ColumnsReport report = settle_columns(table, task, false);
  EXPECT_EQ(report.left_out, std::vector<std::string>{"note"});
  EXPECT_EQ(report.columns[0].type, "text");
  EXPECT_EQ(kinds(report), "note:free_text");
  task.types["note"] = ColumnKind::category;
  EXPECT_TRUE(settle_columns(table, task, false).left_out.empty());
}

TEST(Columns, WarnOfIdsConstantsCodesAndManyValues) {
  std::string text = "row,name,same,education,city,y\n";
  for (int i = 0; i < 120; ++i)
    text += fmt::format("{},n{},1,{},c{},{}\n", i + 7, i, 1 + i % 4, i % 60, i % 2);
  Table table = parse(text);
  const ColumnsReport report = settle_columns(table, of_label("y"), false);
  EXPECT_EQ(kinds(report), "row:id name:id same:constant education:code city:many_values");
  EXPECT_EQ(report.warnings[4].text, "60 different texts give 60 features");
}

TEST(Columns, WithCommasFollowTheOthers) {
  Table table = parse("a;b\n1,234;1,5\n2,345;2,25\n");
  const ColumnsReport report = settle_columns(table, {}, false);
  EXPECT_EQ(table.columns[0].numbers[0], 1.234);
  EXPECT_EQ(kinds(report), "a:decimal_comma");
  Table alone = parse("a;b\n1,234;1\n2,345;2\n");
  (void)settle_columns(alone, {}, false);
  EXPECT_EQ(alone.columns[0].numbers[0], 1234);
}

TEST(Columns, OfALabelAreDoubted) {
  Table table = parse("x,deny\n1,no\n2,yes\n3,no\n");
  const Task task = of_label("deny", {"no", "yes"});
  ASSERT_EQ(label_warnings(table, task, false).size(), 1U);
  EXPECT_EQ(label_warnings(table, task, false)[0].kind, "favorable");
  EXPECT_TRUE(label_warnings(table, task, true).empty());
  Table prices = parse("x,price\n1,10\n2,20\n3,30\n");
  const Task many = of_label("price", {"10", "20", "30"});
  EXPECT_EQ(label_warnings(prices, many, false)[0].kind, "numeric_label");
}

TEST(WholeNumbers, AreValuesOfAnAttributeThatIsANumberColumn) {
  const Table table = parse("sex\n1\n2\n2\n");
  const Attribute sex = read_attribute(table, {.name = "sex", .columns = {"sex"}});
  EXPECT_EQ(sex.values, (std::vector<std::string>{"2", "1"}));
  EXPECT_TRUE(sex.whole_numbers);
  EXPECT_EQ(sex.code, (std::vector<std::int32_t>{1, 0, 0}));
  std::string text = "age\n";
  for (int i = 0; i < 21; ++i) text += fmt::format("{}\n", i);
  EXPECT_ERROR((void)read_attribute(parse(text), {.name = "age", .columns = {"age"}}),
               ErrorKind::bad_task,
               "attribute \"age\": column \"age\" of x.csv has 21 different numbers; name "
               "the groups "
               "by values, quantiles or cuts");
}

}  // namespace
}  // namespace fmd
