#include "fmd/data/table.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;

using test::parse;

TEST(Table, AMissingColumnIsNamedWithTheNearest) {
  const Table table = parse("age,sex,marital_status\n1,a,b\n");
  EXPECT_ERROR(table.column("sexx"), ErrorKind::missing_column,
               "x.csv: no column \"sexx\"; the columns are age, sex, marital_status");
  EXPECT_ERROR(table.column("sexx"), ErrorKind::missing_column, "did you mean \"sex\"?");
  EXPECT_EQ(table.find("sexx"), nullptr);
}

TEST(Table, WhereNamesTheLineOrTheRow) {
  Table table = parse("a\n\n1\n2\n");
  EXPECT_EQ(table.where(1), "x.csv, line 4");
  table.line.clear();
  EXPECT_EQ(table.where(1), "x.csv, row 2");
}

TEST(Table, SelectTakesRowsInTheGivenOrder) {
  const Table table = parse("n,c\n1,x\n?,y\n3,?\n");
  const Table part = select(table, std::vector<Index>{2, 1, 1});
  EXPECT_EQ(to_csv(part), "n,c\n3,\n,y\n,y\n");
  EXPECT_EQ(part.column("n").missing, 2);
  EXPECT_EQ(part.column("c").missing, 1);
  EXPECT_EQ(part.line, (Lines{4, 3, 3}));
}

TEST(Table, OneColumnWithMissingCellsIsWrittenWithQuotes) {
  const Table table = parse("a\n1\n\"\"\n2\n");
  EXPECT_EQ(to_csv(table), "a\n1\n\"\"\n2\n");
  EXPECT_EQ(parse(to_csv(table)).rows(), 3);
}

TEST(RowHashes, DependOnContentsNotOnOrderOrKind) {
  const Table table = parse("a,b,c\n1,x,?\n2,x,5\n");
  const Table moved =
      parse("c,extra,b,a\n5.0,z,x,02\n?,z,x,1\n",
            {.types = {{"a", ColumnKind::category}, {"c", ColumnKind::category}}});
  const auto one = row_hashes(table, Texts{"a", "b", "c"});
  const auto two = row_hashes(moved, Texts{"c", "a", "b"});
  EXPECT_EQ(one[0], two[1]);
  EXPECT_EQ(one[1], two[0]);
  EXPECT_NE(one[0], one[1]);
}

TEST(RowHashes, DifferWhereNamesOrPlacesDiffer) {
  const Table table = parse("a,b\n1,2\n2,1\n1,\n,1\n");
  auto hashes = row_hashes(table, Texts{"a", "b"});
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
  EXPECT_NE(row_hashes(parse("a\n1\n"), Texts{"a"}),
            row_hashes(parse("b\n1\n"), Texts{"b"}));
  EXPECT_ERROR(row_hashes(table, Texts{"z"}), ErrorKind::missing_column, "\"z\"");
}

TEST(RowHashes, OverlapCountsRowsThatTrainingHas) {
  const Table table = parse("a,b\n1,x\n2,y\n1,x\n");
  auto training = row_hashes(parse("b,a\nx,1\nz,1\n"), Texts{"a", "b"});
  std::sort(training.begin(), training.end());
  EXPECT_EQ(overlap(row_hashes(table, Texts{"a", "b"}), training), 2);
}

RC_GTEST_PROP(RowHashesProperty, RowOrderDoesNotChangeTheMultiset, ()) {
  const auto values =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5)));
  std::string text = "a,b\n";
  std::string reversed;
  for (const int value : values) {
    const std::string line =
        std::to_string(value) + ",k" + std::to_string(value % 3) + "\n";
    text += line;
    reversed.insert(0, line);
  }
  auto one = row_hashes(parse(text), Texts{"a", "b"});
  auto two = row_hashes(parse("a,b\n" + reversed), Texts{"a", "b"});
  RC_ASSERT(one.front() == two.back());
  std::sort(one.begin(), one.end());
  std::sort(two.begin(), two.end());
  RC_ASSERT(one == two);
}

}  // namespace
}  // namespace fmd
