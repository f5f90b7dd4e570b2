#include "fmd/data/csv.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using test::parse;

std::vector<std::string> texts(const Table& table, const std::string& name) {
  std::vector<std::string> result;
  for (Index row = 0; row < table.rows(); ++row)
    result.push_back(table.column(name).text(row));
  return result;
}

using Texts = std::vector<std::string>;

TEST(Csv, InfersNumbersAndCategories) {
  const Table table =
      parse("age,job,code\n17, clerk ,007\n-2.5e1,\"a, b\",x\n+3,clerk,7\n");
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.column("age").kind, ColumnKind::number);
  EXPECT_EQ(table.column("age").numbers, (std::vector<double>{17, -25, 3}));
  EXPECT_EQ(texts(table, "job"), (Texts{"clerk", "a, b", "clerk"}));
  EXPECT_EQ(table.column("job").codes, (std::vector<std::int32_t>{0, 1, 0}));
  // The texts that looked like numbers at first are kept as they are.
  EXPECT_EQ(texts(table, "code"), (Texts{"007", "x", "7"}));
  EXPECT_EQ(table.line, (Lines{2, 3, 4}));
}

TEST(Csv, KeepsMissingCellsAsMissing) {
  const Table table = parse("a,b,c\n,?,\n1,x,\n?,\"\",\n");
  EXPECT_EQ(table.column("a").kind, ColumnKind::number);
  EXPECT_TRUE(std::isnan(table.column("a").numbers[0]));
  EXPECT_EQ(table.column("a").missing, 2);
  EXPECT_EQ(table.column("b").codes, (std::vector<std::int32_t>{-1, 0, -1}));
  EXPECT_EQ(table.column("b").missing, 2);
  EXPECT_EQ(table.column("c").missing, 3);
}

TEST(Csv, ACategoryThatComesLateKeepsMissingCellsAndOrder) {
  const Table table = parse("a,b\n2,1\n?,1\n1,1\nx,1\n2,1\n");
  EXPECT_EQ(texts(table, "a"), (Texts{"2", "", "1", "x", "2"}));
  EXPECT_EQ(table.column("a").levels, (Texts{"2", "1", "x"}));
  EXPECT_EQ(table.column("a").missing, 1);
  EXPECT_EQ(table.column("b").numbers.size(), 5U);
}

TEST(Csv, QuotesMayHoldCommasQuotesAndNewlines) {
  const Table table = parse("a,b\r\n\"x\r\ny\",\"say \"\"hi\"\"\"\r\n  \"p\"  ,q\"r\r\n");
  EXPECT_EQ(texts(table, "a"), (Texts{"x\r\ny", "p"}));
  EXPECT_EQ(texts(table, "b"), (Texts{"say \"hi\"", "q\"r"}));
  EXPECT_EQ(table.line, (Lines{2, 4}));  // physical lines
}

TEST(Csv, WordsThatOnlyLookLikeNumbersAreCategories) {
  for (const char* word :
       {"inf", "-inf", "0x1F", "1e", "--1", "+-1", "1 2", "1e999", "1,5"}) {
    const Table table = parse("a\n\"" + std::string(word) + "\"\n");
    EXPECT_EQ(table.column("a").kind, ColumnKind::category) << word;
  }
  for (const char* word :
       {"1", "-0", "+1.5", ".5", "5.", "1e5", "1E-5", "123456789012345678901"})
    EXPECT_EQ(parse("a\n" + std::string(word) + "\n").column("a").kind, ColumnKind::number)
        << word;
}

TEST(Csv, GivenTypesHoldAndAreChecked) {
  const CsvOptions types{.types = {{"a", ColumnKind::category}, {"b", ColumnKind::number}}};
  EXPECT_EQ(texts(parse("a,b\n1,2\n", types), "a"), (Texts{"1"}));
  EXPECT_ERROR(parse("a,b\n1,2\n1,abc\n", types), ErrorKind::bad_value,
               "x.csv, line 3, column \"b\": \"abc\" is not a number");
  EXPECT_ERROR(parse("a,b\n1,inf\n", types), ErrorKind::bad_value,
               "\"inf\" is not a number");
  EXPECT_TRUE(std::isnan(parse("a,b\n1,nan\n", types).column("b").numbers[0]));
  EXPECT_ERROR(parse("a,b\n1,1e999\n", types), ErrorKind::bad_value,
               "\"1e999\" is out of range");
  EXPECT_TRUE(std::isnan(parse("a,b\n1,?\n", types).column("b").numbers[0]));
}

TEST(Csv, KeepsOnlyWhatIsAskedForButChecksTheRest) {
  const CsvOptions keep{.keep = {"b", "absent"}};
  const Table table = parse("a,b,c\n1,2,3\n", keep);
  ASSERT_EQ(table.columns.size(), 1U);
  EXPECT_EQ(table.columns[0].name, "b");
  EXPECT_ERROR(parse("a,b,c\n1,2,\"x\n", keep), ErrorKind::bad_csv, "never closed");
}

TEST(Csv, ReadsFilesWithoutHeaderWithCommentsAndBlankLines) {
  const CsvOptions options{.names = {"a", "b"}, .comment = "|"};
  const Table table = parse("|1x3 text, here\n\n1, x\n  \n2, y\n\n", options);
  EXPECT_EQ(texts(table, "b"), (Texts{"x", "y"}));
  EXPECT_EQ(table.line, (Lines{3, 5}));
}

TEST(Csv, ALastLineNeedsNoLineEnd) {
  EXPECT_EQ(parse("a,b\n1,2").rows(), 1);
  EXPECT_EQ(parse("a,b\n1,").column("b").missing, 1);
  EXPECT_EQ(parse("a,b\r\n1,2\r").rows(), 1);
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "a,b\n1,2\n")
                .columns[0]
                .name,
            "a");
}

TEST(Csv, NamesTheRaggedLine) {
  EXPECT_ERROR(parse("a,b\n1,2\n\n\"x\ny\",2\n1,2,3\n"), ErrorKind::bad_csv,
               "x.csv, line 6: 3 cells, the header has 2");
  EXPECT_ERROR(parse("a,b\n1\n"), ErrorKind::bad_csv,
               "x.csv, line 2: 1 cell, the header has 2");
}

TEST(Csv, AHugeCellIsAnErrorNotACrash) {
  const std::string big(20U << 20, 'x');
  EXPECT_ERROR(parse("a,b\n1," + big + "\n"), ErrorKind::bad_csv,
               "x.csv, line 2, column \"b\": a cell of 20971520 bytes, at most 1048576");
  EXPECT_ERROR(parse("a\n\"" + big + "\n"), ErrorKind::bad_csv, "never closed");
  EXPECT_ERROR(parse("a\n" + std::string(200000, ',') + "\n"), ErrorKind::bad_csv,
               "more than 100000 cells");
}

TEST(Csv, RecordsAreTheExactBytes) {
  const std::string text = "a,b\r\n 1 ,\"x\ny\"\r\n\r\n2,3";
  EXPECT_EQ(csv_records(text, "x.csv"),
            (std::vector<std::string_view>{"a,b", " 1 ,\"x\ny\"", "2,3"}));
}

TEST(Csv, AnAbsentFileIsNamed) {
  EXPECT_ERROR(read_csv("no/such.csv"), ErrorKind::cannot_read, "no/such.csv");
}

TEST(Csv, ReadTextIsBounded) {
  const auto path = std::filesystem::temp_directory_path() / "fmd_csv_test.txt";
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(read_text(path), "0123456789");
  EXPECT_ERROR(read_text(path, 9), ErrorKind::cannot_read, "10 bytes, at most 9");
  std::filesystem::remove(path);
}

TEST(Csv, ACellIsQuotedWhenItMustBe) {
  EXPECT_EQ(csv_cell("plain text"), "plain text");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell(" x"), "\" x\"");
  EXPECT_EQ(csv_cell("=1+1"), "=1+1");
  for (const std::string text : {"=1+1", "+1", "-1", "@x"})
    EXPECT_EQ(csv_cell(text, CsvGuard::formulas), "'" + text);
  EXPECT_EQ(csv_cell("=a,b", CsvGuard::formulas), "\"'=a,b\"");
  EXPECT_EQ(csv_cell("\t=1", CsvGuard::formulas), "'\t=1");
  EXPECT_EQ(csv_cell("a=1", CsvGuard::formulas), "a=1");
  EXPECT_EQ(csv_cell("\xef\xbb\xbfx"), "\"\xef\xbb\xbfx\"");
}

RC_GTEST_PROP(CsvProperty, WhatIsWrittenReadsBackTheSame, ()) {
  const auto cell =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,\"\n\r 1.é")));
  const auto width = *rc::gen::inRange<std::size_t>(1, 4);
  const auto rows =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<std::string>>>(
          rc::gen::container<std::vector<std::string>>(width, cell)));
  Table table;
  for (std::size_t c = 0; c < width; ++c) {
    Column column{.name = "c" + std::to_string(c), .kind = ColumnKind::category};
    for (const auto& row : rows) {
      // Bytes of "é" alone are not valid UTF-8, and a cell of blanks alone is no text when
      // unquoted.
      std::string text;
      for (const char byte : row[c])
        if (static_cast<unsigned char>(byte) < 0x80) text += byte;
      const auto at = std::find(column.levels.begin(), column.levels.end(), text);
      column.codes.push_back(static_cast<std::int32_t>(at - column.levels.begin()));
      if (at == column.levels.end()) column.levels.push_back(text);
      if (text.empty()) ++column.missing;
    }
    table.columns.push_back(column);
  }
  CsvOptions options;
  for (const Column& column : table.columns)
    options.types[column.name] = ColumnKind::category;
  const Table back = parse_csv(to_csv(table), "x.csv", options);
  RC_ASSERT(back.rows() == table.rows());
  for (std::size_t c = 0; c < width; ++c) {
    RC_ASSERT(back.columns[c].missing == table.columns[c].missing);
    for (Index row = 0; row < table.rows(); ++row)
      RC_ASSERT(back.columns[c].text(row) == table.columns[c].text(row));
  }
}

RC_GTEST_PROP(CsvProperty, NumbersReadBackToTheBit, (const std::vector<double>& numbers)) {
  RC_PRE(!numbers.empty());
  Table table;
  table.columns.push_back({.name = "x", .numbers = numbers});
  RC_ASSERT(parse_csv(to_csv(table), "x.csv").column("x").numbers == numbers);
}

RC_GTEST_PROP(CsvProperty, AnyBytesGiveATableOrAnError, (std::string text)) {
  try {
    const Table table = parse_csv(text, "x.csv");
    RC_ASSERT(table.rows() > 0);
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::bad_csv);
  }
}

TEST(Csv, TakesTheLineOfASpreadsheetThatNamesTheSeparator) {
  const Table table = test::parse("sep=;\r\na;b\r\n1,5;x\r\n2;y\r\n");
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].text(0), "1,5");
  EXPECT_ERROR((void)test::parse("sep=;\na;b\n1;2;3\n"), ErrorKind::bad_csv,
               "x.csv, line 3: 3 cells, the header has 2");
}

TEST(Csv, SaysThatAWorkbookIsNoText) {
  EXPECT_ERROR((void)test::parse(std::string("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0", 14)),
               ErrorKind::bad_csv, "x.csv: a workbook of a spreadsheet");
}

}  // namespace
}  // namespace fmd
