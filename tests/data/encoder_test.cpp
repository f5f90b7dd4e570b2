#include "fmd/data/encoder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/pair_plan.h"
#include "fmd/model/features.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using Texts = std::vector<std::string>;

using test::parse;

// Row r as a dense vector.
std::vector<double> dense(const CsrRows& rows, Index r) {
  std::vector<double> result(static_cast<std::size_t>(rows.cols), 0);
  for (Index i = rows.start[static_cast<std::size_t>(r)];
       i < rows.start[static_cast<std::size_t>(r) + 1]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    result[static_cast<std::size_t>(rows.column[at])] +=
        rows.value.empty() ? 1 : rows.value[at];
  }
  return result;
}

// Rows of the table with the attribute set, by way of their features.
CsrRows flip(const Encoder& encoder, const Table& table, const Attribute& attribute,
             const std::vector<Index>& rows, const std::vector<std::int32_t>& to) {
  const auto X = make_sparse(encoder.encode(table));
  const auto patched = make_patched(*X, rows, encoder.patch(attribute, to), to);
  CsrRows all;
  all.cols = patched->cols();
  Scratch scratch;
  for (Index b = 0; b < block_count(patched->rows()); ++b) {
    const FeatureBlock block = patched->block(b, scratch);
    for (Index r = 0; r < block.rows; ++r) {
      for (Index e = block.start[static_cast<std::size_t>(r)];
           e < block.start[static_cast<std::size_t>(r) + 1]; ++e) {
        all.column.push_back(block.column[static_cast<std::size_t>(e)]);
        if (!block.value.empty())
          all.value.push_back(block.value[static_cast<std::size_t>(e)]);
      }
      all.start.push_back(static_cast<Index>(all.column.size()));
    }
  }
  return all;
}

const std::string kWorkers = "age,sex,job\n10,M,x\n20,F,y\n30,F,z\n20,M,x\n";
const Texts kColumns = {"age", "sex", "job"};

TEST(Encoder, UnseenLevelsAreCountedWithoutAFeature) {
  const Table table = parse("sex,job\nM,x\nF,y\nF,z\nF,x\n");
  const Texts columns = {"sex", "job"};
  const Encoder strict(table, columns, {}, Unseen::error);
  const Encoder counted(table, columns, {}, Unseen::counted);
  // What training sees is the same.
  EXPECT_EQ(counted.feature_names(), strict.feature_names());
  for (Index row = 0; row < table.rows(); ++row)
    EXPECT_EQ(dense(counted.encode(table), row), dense(strict.encode(table), row));
  // Of two levels the mean of their feature, otherwise none.
  const Table other = parse("sex,job\nX,w\n,x\n");
  EXPECT_EQ(dense(counted.encode(other), 0), (std::vector<double>{0.25, 0, 0, 0}));
  EXPECT_EQ(dense(counted.encode(other), 1), (std::vector<double>{0.25, 1, 0, 0}));
  EXPECT_ERROR(strict.encode(other), ErrorKind::unknown_category, "x.csv, line 2");
  EXPECT_EQ(Encoder::from_json(counted.to_json(), "m"), counted);
  EXPECT_EQ(counted.to_json(), Encoder::from_json(counted.to_json(), "m").to_json());
  std::string bad = counted.to_json();
  bad.replace(bad.find("\"counted\""), 9, "\"dropped\"");
  EXPECT_ERROR(Encoder::from_json(bad, "m"), ErrorKind::bad_model, "must be counted");
}

TEST(Encoder, KeepsTheNotationOfItsColumns) {
  const Table table =
      parse("a;b\n1,5;1\n2,5;2\n",
            {.notations = {{"a", Notation::comma}, {"b", Notation::codes}}});
  const Encoder encoder(table, Texts{"a", "b"}, {}, Unseen::error);
  EXPECT_EQ(encoder.columns()[0].notation, Notation::comma);
  EXPECT_EQ(Encoder::from_json(encoder.to_json(), "m"), encoder);
  // Texts are read as they are written in training.
  EXPECT_EQ(dense(encoder.encode(parse("a;b\n\"2,5\";1\n")), 0)[0], 1);
  std::string bad = encoder.to_json();
  bad.replace(bad.find("\"codes\""), 7, "\"comma\"");
  EXPECT_ERROR(Encoder::from_json(bad, "m"), ErrorKind::bad_model, "disagree");
}

TEST(Encoder, StandardisesNumbersAndCountsLevels) {
  const Table table = parse(kWorkers);
  const Encoder encoder(table, kColumns, {}, Unseen::error);
  EXPECT_EQ(encoder.features(), 5);
  EXPECT_EQ(encoder.feature_names(), (Texts{"age", "sex=M", "job=x", "job=y", "job=z"}));
  EXPECT_EQ(encoder.columns()[0].mean, 20);
  EXPECT_CLOSE(encoder.columns()[0].scale, std::sqrt(50.0), 1e-15);
  const CsrRows rows = encoder.encode(table);
  EXPECT_EQ(rows.rows(), 4);
  EXPECT_CLOSE(dense(rows, 0), (std::vector<double>{-10 / std::sqrt(50.0), 1, 1, 0, 0}),
               1e-7);
  EXPECT_CLOSE(dense(rows, 1), (std::vector<double>{0, 0, 0, 1, 0}), 1e-7);
  EXPECT_EQ(encoder.types().at("age"), ColumnKind::number);
}

TEST(Encoder, FitsOnTheGivenRowsOnly) {
  const Table table = parse(kWorkers);
  const Encoder encoder(table, kColumns, std::vector<Index>{0, 1}, Unseen::error);
  EXPECT_EQ(encoder.columns()[0].mean, 15);
  EXPECT_EQ(encoder.columns()[2].levels, (Texts{"x", "y"}));
  EXPECT_ERROR(
      encoder.encode(table), ErrorKind::unknown_category,
      "x.csv, line 4, column \"job\": \"z\" is not one of the values that the model has "
      "seen (x, y)");
  EXPECT_EQ(encoder.encode(table, std::vector<Index>{0, 1, 3}).rows(), 3);
}

TEST(Encoder, ABucketTakesWhatWasNotSeen) {
  const Encoder encoder(parse("sex\nM\nF\n"), Texts{"sex"}, {}, Unseen::bucket);
  EXPECT_EQ(encoder.feature_names(), (Texts{"sex=F", "sex=M", "sex=(unseen)"}));
  const CsrRows rows = encoder.encode(parse("sex,x\nM,1\nX,1\n?,1\n"));
  EXPECT_TRUE(rows.value.empty());
  EXPECT_EQ(rows.column, (std::vector<std::int32_t>{1, 2, 2}));
}

TEST(Encoder, MissingValuesOfTrainingHaveAFeature) {
  const Table table = parse("age,sex\n10,M\n?,F\n30,?\n");
  const Encoder encoder(table, Texts{"age", "sex"}, {}, Unseen::error);
  EXPECT_EQ(encoder.feature_names(),
            (Texts{"age", "age is missing", "sex is missing", "sex=F", "sex=M"}));
  const CsrRows rows = encoder.encode(table);
  EXPECT_CLOSE(dense(rows, 1), (std::vector<double>{0, 1, 0, 1, 0}), 1e-7);
  EXPECT_CLOSE(dense(rows, 2), (std::vector<double>{1, 0, 1, 0, 0}), 1e-7);
  EXPECT_EQ(encoder.missing_numbers(table), 1);
}

TEST(Encoder, MissingValuesThatTrainingDidNotHave) {
  const Encoder encoder(parse(kWorkers), kColumns, {}, Unseen::error);
  const Table table = parse("age,sex,job\n?,M,x\n10,?,x\n");
  EXPECT_CLOSE(dense(encoder.encode(table, std::vector<Index>{0}), 0),
               (std::vector<double>{0, 1, 1, 0, 0}), 1e-7);
  EXPECT_EQ(encoder.missing_numbers(table), 1);
  EXPECT_ERROR(
      encoder.encode(table), ErrorKind::unknown_category,
      "x.csv, line 3, column \"sex\": is missing; the model has seen no missing value");
}

TEST(Encoder, AConstantNumberHasScaleOne) {
  const Encoder encoder(parse("a\n0.1\n0.1\n0.1\n"), Texts{"a"}, {}, Unseen::error);
  EXPECT_EQ(encoder.columns()[0].mean, 0.1);
  EXPECT_EQ(encoder.columns()[0].scale, 1);
}

TEST(Encoder, AColumnOfTheOtherKindIsReadByItsTexts) {
  const CsvOptions category{
      .types = {{"code", ColumnKind::category}, {"age", ColumnKind::category}}};
  const Encoder encoder(
      parse("code,age\n1,5\n2,7\n", {.types = {{"code", ColumnKind::category}}}),
      Texts{"code", "age"}, {}, Unseen::error);
  const CsrRows numbers = encoder.encode(parse("code,age\n2,5\n"));
  const CsrRows texts = encoder.encode(parse("code,age\n2,5\n", category));
  EXPECT_EQ(dense(numbers, 0), dense(texts, 0));
  EXPECT_ERROR(encoder.encode(parse("code,age\n2,old\n")), ErrorKind::bad_value,
               "x.csv, line 2, column \"age\": \"old\" is not a number");
}

TEST(Encoder, ErrorsNameTheCell) {
  const Encoder encoder(parse(kWorkers), kColumns, {}, Unseen::error);
  EXPECT_ERROR(encoder.encode(parse("age,sex\n1,M\n")), ErrorKind::missing_column,
               "no column \"job\"");
  EXPECT_ERROR(encoder.encode(parse("age,sex,job\n1e300,M,x\n")), ErrorKind::bad_value,
               "x.csv, line 2, column \"age\": 1e+300 is too far from the training rows");
  EXPECT_ERROR(Encoder(parse("a,b\n1,?\n2,?\n"), Texts{"a", "b"}, {}, Unseen::error),
               ErrorKind::bad_data, "x.csv, column \"b\": has no value in any row");
  EXPECT_ERROR(Encoder(parse("a\n1e308\n-1e308\n"), Texts{"a"}, {}, Unseen::error),
               ErrorKind::bad_value, "too large to standardise");
  EXPECT_ERROR(Encoder(parse(kWorkers), Texts{"age", "age"}, {}, Unseen::error),
               ErrorKind::bad_data, "named twice");
}

TEST(Encoder, FlipsSetEveryColumnOfTheAttributeThatItReads) {
  const Table table = parse("age,sex,job\n10,M,x\n20,F,y\n30,F,z\n");
  const Attribute both = read_attribute(
      table, {.name = "both", .columns = {"sex", "age"}, .values = {"M / 10", "F / 30"}});
  const Encoder all(table, kColumns, {}, Unseen::error);
  const std::vector<Index> rows = {1};
  const std::vector<std::int32_t> to = {both.values[0] == "M / 10" ? 0 : 1};
  // Row 1 with age and sex of row 0 and its own job.
  std::vector<double> expected = dense(all.encode(table), 0);
  expected[2] = 0;
  expected[3] = 1;
  EXPECT_EQ(dense(flip(all, table, both, rows, to), 0), expected);

  const Encoder sex_only(table, Texts{"sex"}, {}, Unseen::error);
  EXPECT_EQ(dense(flip(sex_only, table, both, rows, to), 0), std::vector<double>{1});
  EXPECT_TRUE(sex_only.reads(both));
  EXPECT_FALSE(Encoder(table, Texts{"job"}, {}, Unseen::error).reads(both));
}

TEST(Encoder, FlipsToAnUnknownValueAreErrors) {
  const Table table = parse(kWorkers);
  const Attribute sex = read_attribute(table, {.name = "sex", .values = {"M", "F", "X"}});
  const Encoder encoder(table, kColumns, {}, Unseen::error);
  EXPECT_ERROR((void)encoder.patch(sex, std::vector<std::int32_t>{2}),
               ErrorKind::unknown_category,
               "attribute \"sex\", column \"sex\": \"X\" is not one of the values");
  EXPECT_ERROR((void)encoder.patch(sex, std::vector<std::int32_t>{3}), ErrorKind::bad_shape,
               "has 3 values, no value 3");
  EXPECT_ERROR((void)flip(encoder, table, sex, {0}, {}), ErrorKind::bad_shape,
               "to has 0 entries, needs 1");
  EXPECT_EQ(flip(encoder, table, sex, {}, {}).rows(), 0);
}

TEST(EncoderJson, ComesBackTheSame) {
  const Table table = parse("age,sex,job\n0.1,M,x\n0.7,F,?\n?,F,\"ü, \"\"q\"\"\"\n");
  for (const Unseen unseen : {Unseen::error, Unseen::bucket}) {
    const Encoder encoder(table, kColumns, {}, unseen);
    EXPECT_EQ(Encoder::from_json(encoder.to_json(), "m"), encoder);
  }
  EXPECT_EQ(Encoder::from_json(Encoder().to_json(), "m"), Encoder());
}

TEST(EncoderJson, TrustsNothing) {
  const std::string good =
      R"({"columns":[{"kind":"number","mean":1.5,"missing":0,"name":"a","scale":2},)"
      R"({"bucket":false,"kind":"category","levels":["x","y"],"missing":0,"name":"b"}],"features":2})";
  EXPECT_EQ(Encoder::from_json(good, "m").features(), 2);
  const auto bad = [&good](const std::string& from, const std::string& to,
                           const std::string& message) {
    std::string text = good;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_ERROR(Encoder::from_json(text, "m.safetensors"), ErrorKind::bad_model, message);
  };
  bad("{\"columns\"", "{\"column\"", "m.safetensors: \"columns\" is missing");
  bad(good, "3", "m.safetensors: is not a JSON object");
  bad("\"features\":2", "\"features\":3", "\"features\" is 3, but its columns give 2");
  bad("\"features\":2", "\"features\":-2", "must be a whole number >= 0");
  bad("\"scale\":2", "\"scale\":0", "columns 1: \"scale\" must be > 0");
  bad("\"scale\":2", "\"scale\":-1", "\"scale\" must be > 0");
  bad("\"scale\":2", "\"scale\":\"2\"", "\"scale\" is \"2\", must be a number");
  bad("\"mean\":1.5", "\"mean\":null", "\"mean\" is missing");
  bad("\"mean\":1.5", "\"mean\":1e999", "damaged JSON");
  bad("\"missing\":0", "\"missing\":-1", "must be a whole number >= 0");
  bad("\"missing\":0", "\"missing\":0.5", "must be a whole number >= 0");
  bad("\"missing\":0,\"name\":\"b\"", "\"missing\":4,\"name\":\"b\"",
      "disagree about missing");
  bad("\"name\":\"b\"", "\"name\":\"a\"", "column \"a\" appears twice");
  bad("\"name\":\"b\"", "\"name\":\"\"", "\"name\" is empty");
  bad("[\"x\",\"y\"]", "[\"y\",\"x\"]", "not sorted");
  bad("[\"x\",\"y\"]", "[\"x\",\"x\"]", "not sorted, or not different");
  bad("[\"x\",\"y\"]", "[]", "\"levels\" is empty");
  bad("[\"x\",\"y\"]", "[1,2]", "must be a list of texts");
  bad("[\"x\",\"y\"]", "\"x\"", "must be a list of texts");
  bad("\"bucket\":false", "\"bucket\":0", "must be true or false");
  bad("\"category\"", "\"text\"", "must be \"number\" or \"category\"");
  bad("[{\"kind\"", "[7,{\"kind\"", "columns 1: is not a JSON object");
}

// A small random table with numbers and categories, some missing.
struct RandomTable {
  Table table;
  std::vector<Index> rows;
};

RandomTable random_table() {
  const auto cells =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
          rc::gen::pair(rc::gen::inRange(-3, 9), rc::gen::inRange(0, 4))));
  std::string text = "id,n,c,g\n";
  for (std::size_t i = 0; i < cells.size() + 3; ++i) {
    // The first rows make sure that every value of g is there.
    const auto [number, level] =
        i < 3 ? std::pair{static_cast<int>(i), static_cast<int>(i)} : cells[i - 3];
    text += "r," + (number < 0 ? std::string("?") : std::to_string(number)) + ",c" +
            (level == 3 ? "" : std::to_string(level)) + ",g" + std::to_string(level % 3) +
            "\n";
  }
  RandomTable result{parse(text), {}};
  result.rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<Index>>(
      rc::gen::inRange<Index>(0, result.table.rows())));
  return result;
}

void expect_same(const CsrRows& a, const CsrRows& b) {
  RC_ASSERT(a.cols == b.cols);
  RC_ASSERT(a.start == b.start);
  RC_ASSERT(a.column == b.column);
  RC_ASSERT(a.value == b.value);
}

RC_GTEST_PROP(EncoderProperty, EncodingSelectedRowsIsSelectingEncodedRows, ()) {
  const auto [table, rows] = random_table();
  const Encoder encoder(table, Texts{"n", "c", "g"}, {}, Unseen::error);
  const CsrRows all = encoder.encode(table);
  const CsrRows part = encoder.encode(table, rows);
  expect_same(part, encoder.encode(select(table, rows)));
  for (std::size_t i = 0; i < rows.size(); ++i)
    RC_ASSERT(dense(part, static_cast<Index>(i)) == dense(all, rows[i]));
  for (Index r = 0; r < all.rows(); ++r)
    for (Index i = all.start[static_cast<std::size_t>(r)] + 1;
         i < all.start[static_cast<std::size_t>(r) + 1]; ++i)
      RC_ASSERT(all.column[static_cast<std::size_t>(i) - 1] <
                all.column[static_cast<std::size_t>(i)]);
}

RC_GTEST_PROP(EncoderProperty, FlippingTwiceGivesTheSameFeatures, ()) {
  const auto [table, rows] = random_table();
  const Encoder encoder(table, Texts{"n", "c", "g"}, {}, Unseen::error);
  const Attribute group = read_attribute(table, {.name = "g"});
  const PairPlan plan = flip_plan(group, rows);
  // There, by way of the table that another program would score ...
  const Table flipped = flipped_table(table, group, plan);
  expect_same(encoder.encode(flipped), flip(encoder, table, group, plan.row, plan.to));
  // ... and back to the row's own value.
  std::vector<Index> every(static_cast<std::size_t>(plan.size()));
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<Index>(i);
  expect_same(flip(encoder, flipped, group, every, plan.from),
              encoder.encode(table, plan.row));
}

}  // namespace
}  // namespace fmd
