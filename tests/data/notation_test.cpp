#include "fmd/data/notation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;
using test::parse;

TEST(Notation, ReadsThousandsSignsAndPercent) {
  EXPECT_EQ(read_number("1,234.5", Notation::point), 1234.5);
  EXPECT_EQ(read_number("$1,234", Notation::point), 1234);
  EXPECT_EQ(read_number("-$5", Notation::point), -5);
  EXPECT_EQ(read_number("(1,000)", Notation::point), -1000);
  EXPECT_EQ(read_number("12.5 %", Notation::point), 12.5);
  EXPECT_EQ(read_number("EUR 1'234'567", Notation::point), 1234567);
  EXPECT_EQ(read_number("1.234,5", Notation::comma), 1234.5);
  EXPECT_EQ(read_number("1 234,5 \u20ac", Notation::comma), 1234.5);
  EXPECT_EQ(read_number("0,125", Notation::comma), 0.125);
}

TEST(Notation, RefusesGroupsThatAreNotThousands) {
  for (const char* text :
       {"1,23", "12,3456", ",123", "1,,234", "1,234,", "0,123", "1x5", "", "$", "%"})
    EXPECT_FALSE(read_number(text, Notation::point)) << text;
}

TEST(Notation, ReadsDatesAsDays) {
  EXPECT_EQ(read_number("1970-01-01", Notation::ymd), 0);
  EXPECT_EQ(read_number("2020-02-29", Notation::ymd), 18321);
  EXPECT_EQ(read_number("2020-02-29T12:00:00Z", Notation::ymd), 18321.5);
  EXPECT_EQ(read_number("29.02.2020", Notation::dmy), 18321);
  EXPECT_EQ(read_number("2/29/2020", Notation::mdy), 18321);
  EXPECT_EQ(read_number("1969-12-31", Notation::ymd), -1);
  EXPECT_FALSE(read_number("2019-02-29", Notation::ymd));
  EXPECT_FALSE(read_number("2020-2-30", Notation::ymd));
  EXPECT_FALSE(read_number("1/2-2020", Notation::mdy));
  // Names of months, years of two digits, times as people and spreadsheets write them.
  for (const char* text : {"29-Feb-2020", "29 February 2020", "29FEB2020", "29/2/20",
                           "29. Feb. 2020", "29-feb-20"})
    EXPECT_EQ(read_number(text, Notation::dmy), 18321) << text;
  for (const char* text : {"Feb 29, 2020", "february 29 2020", "02/29/20"})
    EXPECT_EQ(read_number(text, Notation::mdy), 18321) << text;
  EXPECT_EQ(read_number("12/31/69", Notation::mdy), -1);
  EXPECT_EQ(read_number("2/29/2020 6:00 PM", Notation::mdy), 18321.75);
  EXPECT_EQ(read_number("2/29/2020 12:00 AM", Notation::mdy), 18321);
  EXPECT_EQ(read_number("2020-02-29T12:00:00+06:00", Notation::ymd), 18321.25);
  EXPECT_EQ(read_number("2020-02-29 12:00:00.5 -0600", Notation::ymd), 18321.75);
  for (const char* text : {"29-Fex-2020", "29 2 2020", "Feb 2020", "29-Feb-200", "1-2-3",
                           "29/2/2020 13:00 PM", "2020-02-29T12:00:00+99:00", "Feb", ""})
    for (const Notation notation : {Notation::ymd, Notation::dmy, Notation::mdy})
      EXPECT_FALSE(read_number(text, notation)) << text;
}

TEST(Notation, IsFoundForAllTextsTogether) {
  EXPECT_EQ(find_notation({"1", "2.5", "NA"}), Notation::plain);
  EXPECT_EQ(find_notation({"$1", "n/a", "$2,000"}), Notation::point);
  EXPECT_EQ(find_notation({"1,5", "2"}), Notation::comma);
  EXPECT_EQ(find_notation({"2020-01-02", "-"}), Notation::ymd);
  EXPECT_EQ(find_notation({"1/2/2020", "1/13/2020"}), Notation::mdy);
  EXPECT_EQ(find_notation({"1/2/2020", "13/1/2020"}), Notation::dmy);
  EXPECT_EQ(find_notation({"1.2.2020", "2.1.2020"}), Notation::dmy);
  EXPECT_EQ(find_notation({"5-Jan-20", "NA", "17-Dec-19"}), Notation::dmy);
  EXPECT_EQ(find_notation({"Jan 5, 2020", "May 1, 2019"}), Notation::mdy);
  EXPECT_EQ(find_notation({"1/5/20", "12/17/19"}), Notation::mdy);
  EXPECT_EQ(find_notation({"10%", "0.1"}), std::nullopt);
  EXPECT_EQ(find_notation({"$1", "\u20ac2"}), std::nullopt);
  EXPECT_EQ(find_notation({"NA", "-"}), std::nullopt);
  EXPECT_EQ(find_notation({"1x5", "2"}), std::nullopt);
}

RC_GTEST_PROP(Notation, WhatIsWrittenInEitherWayIsReadBack, ()) {
  const auto cents = *rc::gen::inRange<int>(-200000000, 200000000);
  const std::string plain = fmt::format("{:.2f}", std::abs(cents) / 100.0);
  std::string whole = plain.substr(0, plain.size() - 3);
  for (int at = static_cast<int>(whole.size()) - 3; at > 0; at -= 3)
    whole.insert(static_cast<std::size_t>(at), ",");
  const std::string sign = cents < 0 ? "-" : "";
  const std::string point = sign + whole + plain.substr(plain.size() - 3);
  std::string comma = point;
  for (char& c : comma) c = c == ',' ? '.' : c == '.' ? ',' : c;
  RC_ASSERT(read_number(point, Notation::point) == cents / 100.0);
  RC_ASSERT(read_number(comma, Notation::comma) == cents / 100.0);
}

TEST(MissingWords, AreMissingInNumbersAndTextsElsewhere) {
  const Table table = parse("a,b\n1,NA\nNA,x\nnan,y\n-,x\nUnknown,x\n2.5,x\n");
  EXPECT_EQ(table.columns[0].kind, ColumnKind::number);
  EXPECT_EQ(table.columns[0].missing, 4);
  EXPECT_EQ(table.columns[0].numbers[5], 2.5);
  EXPECT_EQ(table.columns[1].missing, 0);
  EXPECT_EQ(table.columns[1].text(0), "NA");
}

TEST(MissingWords, ThatComeFirstAreTextsWhenTextsFollow) {
  std::string text = "a\n";
  for (int i = 0; i < 100000; ++i) text += "NA\n";
  const Table table = parse(text + "x\n");
  EXPECT_EQ(table.columns[0].kind, ColumnKind::category);
  EXPECT_EQ(table.columns[0].missing, 0);
  EXPECT_EQ(table.columns[0].text(0), "NA");
}

TEST(Separators, AreFoundInTheFirstTwoLines) {
  for (const char separator : {',', ';', '\t', '|'}) {
    std::string text = "a,b,c\n1,\"x,;\t|\ny\",3\n,z,4\n";
    std::string quoted;
    bool inside = false;
    for (const char c : text) {
      if (c == '"') inside = !inside;
      quoted += c == ',' && !inside ? separator : c;
    }
    const Table table = parse(quoted);
    ASSERT_EQ(table.columns.size(), 3U) << separator;
    EXPECT_EQ(table.columns[1].text(0), "x,;\t|\ny");
    EXPECT_EQ(table.columns[0].missing, 1);
    EXPECT_EQ(table.columns[2].numbers[1], 4);
    EXPECT_EQ(csv_records(quoted, "x.csv").size(), 3U);
  }
  EXPECT_EQ(parse("a;b,c\n1;2,3\n").columns.size(), 2U);  // both fit: a comma
  EXPECT_EQ(parse("a;b\n1,5;2\n").columns.size(), 2U);
  EXPECT_EQ(parse("a;b\nx\n").columns.size(), 1U);
}

TEST(Separators, AnEmptyTabCellIsACell) {
  const Table table = parse("a\tb\tc\n1\t\t3\n\t\t\n");
  EXPECT_EQ(table.rows(), 2);
  EXPECT_EQ(table.columns[1].missing, 2);
}

TEST(Notations, OfAModelApplyToEveryFile) {
  const CsvOptions options{.notations = {{"a", Notation::comma}, {"b", Notation::codes}}};
  const Table table = parse("a;b\n1,5;1\nNA;NA\n", options);
  EXPECT_EQ(table.columns[0].kind, ColumnKind::number);
  EXPECT_EQ(table.columns[0].numbers[0], 1.5);
  EXPECT_EQ(table.columns[0].missing, 1);
  EXPECT_EQ(table.columns[1].kind, ColumnKind::category);
  EXPECT_EQ(table.columns[1].missing, 1);
  EXPECT_ERROR((void)parse("a;b\n1,5;1\nold;2\n", options), ErrorKind::bad_value,
               "x.csv, line 3, column \"a\": \"old\" does not fit the training rows "
               "(numbers, decimal comma)");
}

}  // namespace
}  // namespace fmd
