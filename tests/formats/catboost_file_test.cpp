#include <bit>
#include <cstring>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/data/csv.h"
#include "fmd/formats/model_file.h"
#include "fmd/model/passes.h"
#include "fmd/model/tree_backbone.h"
#include "model/trees/city_hash.h"
#include "support/check_model_file.h"
#include "support/close.h"

namespace fmd {
namespace {

std::filesystem::path catboost_path(const std::string& name) {
  return std::filesystem::path(FMD_TEST_DIR) / "files/catboost" / name;
}

Bytes golden_bytes(const std::filesystem::path& path) {
  const FileView file = FileView::open(path);
  return {file.bytes().begin(), file.bytes().end()};
}

nlohmann::json catboost_answers() {
  const Bytes bytes = golden_bytes(catboost_path("answers.json"));
  return nlohmann::json::parse(bytes.begin(), bytes.end());
}

Bytes catboost_bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::unique_ptr<ModelFile> open_catboost(const std::string& text) {
  return open_model_file(FileSet::in_memory("m", {{"", catboost_bytes(text)}}));
}

Table golden_rows(const Model& model) {
  const Bytes bytes = golden_bytes(catboost_path("rows.csv"));
  return parse_csv(std::string(bytes.begin(), bytes.end()), "rows.csv",
                   {.types = model.backbone->inputs().types()});
}

// x > 2.5, color is "red" and a count of color: the tree of three splits has eight leaves.
// The second tree has leaves alone.
const std::string kCatboost =
    R"({"ctr_data":{"color table":{"counter_denominator":0,"hash_map":)"
    R"(["18446744073709551615",0,0,"913873132368746293",1,3,"8457219063001154763",3,1],)"
    R"("hash_stride":3}},"features_info":{"categorical_features":)"
    R"([{"feature_id":"color","feature_index":0,"flat_feature_index":1,)"
    R"("values":[-1242798403]}],"ctrs":[{"borders":[0.5],"ctr_type":"Borders","elements":)"
    R"([{"cat_feature_index":0,"combination_element":"cat_feature_value"}],)"
    R"("identifier":"color table","prior_denomerator":1,"prior_numerator":0.5,"scale":1,)"
    R"("shift":0,"target_border_idx":0}],"float_features":[{"borders":[2.5],)"
    R"("feature_id":"x","feature_index":0,"flat_feature_index":0,"has_nans":true,)"
    R"("nan_value_treatment":"AsTrue"}]},"model_info":{"params":{"loss_function":)"
    R"({"params":{},"type":"Logloss"}}},"oblivious_trees":[{"leaf_values":)"
    R"([1,2,3,4,5,6,7,8],"leaf_weights":[1,1,1,1,1,1,1,1],"splits":)"
    R"([{"split_index":0},{"split_index":1},{"split_index":2}]},)"
    R"({"leaf_values":[0.25],"splits":[]}],"scale_and_bias":[2,[0.125]]})";

const std::string kNestedTrees =
    R"({"features_info":{"float_features":[{"borders":[2.5],"feature_id":"x",)"
    R"("feature_index":0,"flat_feature_index":0,"has_nans":false,)"
    R"("nan_value_treatment":"AsIs"}]},"model_info":{"class_params":{"class_names":)"
    R"(["a","b","c"]},"params":{"loss_function":{"type":"MultiClass"}}},)"
    R"("scale_and_bias":[1,[1,0,0]],"trees":[{"left":{"value":[1,2,3],"weight":1},)"
    R"("right":{"value":[4,5,6],"weight":1},"split":{"split_index":0}}]})";

Matrix catboost_margins(const Model& model, const std::string& csv) {
  const Table table =
      parse_csv(csv, "rows.csv", {.types = model.backbone->inputs().types()});
  return test::logits_of(model, table);
}

std::string replaced_in(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  return place == std::string::npos ? "no such text: " + from
                                    : text.replace(place, from.size(), to);
}

const std::vector<std::string> kGoldenCatboost = {"numbers",  "large", "counts",
                                                  "leafwise", "three", "three_leafwise"};

}  // namespace

TEST(CityHash, AgreesWithCatboost) {
  const auto known = catboost_answers().at("hashes");
  EXPECT_EQ(known.size(), 18U);
  for (const auto& [text, hash] : known.items())
    EXPECT_EQ(static_cast<std::uint32_t>(category_hash(text)), hash.get<std::uint32_t>())
        << text;
}

TEST(CatboostFile, MarginsAreThoseOfCatboost) {
  const auto known = catboost_answers();
  for (const std::string& name : kGoldenCatboost)
    for (const char* ending : {".json", ".cbm"}) {
      SCOPED_TRACE(name + ending);
      const Model model = open_model(catboost_path(name + ending));
      const Matrix z = test::logits_of(model, golden_rows(model));
      const auto& want = known.at(name);
      ASSERT_EQ(static_cast<std::size_t>(z.rows()), want.size());
      for (Index i = 0; i < z.rows(); ++i)
        for (Index k = 0; k < z.cols(); ++k)
          EXPECT_NEAR(
              z(i, k),
              want[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)].get<double>(),
              1e-12)
              << "row " << i;
    }
}

TEST(CatboostFile, BothFormsAreOneModel) {
  for (const std::string& name : kGoldenCatboost) {
    const auto text = open_model_file(catboost_path(name + ".json"));
    const auto binary = open_model_file(catboost_path(name + ".cbm"));
    EXPECT_EQ(text->format(), "CatBoost JSON");
    EXPECT_EQ(binary->format(), "CatBoost binary");
    EXPECT_EQ(text->model().backbone->hash(), binary->model().backbone->hash()) << name;
    EXPECT_EQ(text->model().theta, binary->model().theta) << name;
    EXPECT_EQ(text->model().task.classes, binary->model().task.classes);
    EXPECT_FALSE(binary->details().empty());
  }
}

TEST(CatboostFile, BinaryFilesHoldWhatEveryFormatHolds) {
  for (const char* name : {"counts.cbm", "three_leafwise.cbm"}) {
    SCOPED_TRACE(name);
    const Model model = open_model(catboost_path(name));
    test::check_model_file({.path = catboost_path(name),
                            .formats = model_formats(),
                            .table = golden_rows(model),
                            .precision = 0});
  }
}

TEST(CatboostFile, MarginsByHand) {
  const auto file = open_catboost(kCatboost);
  // red: 3.5 / 5 > .5; blue: 1.5 / 5; a color that was never counted: .5 / 1 is not > .5.
  const Matrix z =
      catboost_margins(file->model(), "x,color\n2.5,red\n3,red\n3,blue\n,blue\n1,pink\n");
  const double rest = 2 * 0.25 + 0.125;
  EXPECT_EQ(z(0, 0), 2 * 7 + rest);
  EXPECT_EQ(z(1, 0), 2 * 8 + rest);
  EXPECT_EQ(z(2, 0), 2 * 2 + rest);
  EXPECT_EQ(z(3, 0), 2 * 2 + rest);  // a missing number counts as large
  EXPECT_EQ(z(4, 0), 2 * 1 + rest);
  const Matrix three =
      catboost_margins(open_catboost(kNestedTrees)->model(), "x,z\n2.5,1\n2.75,1\n,1\n");
  EXPECT_EQ(three, (Matrix(3, 3) << 2, 2, 3, 5, 5, 6, 2, 2, 3).finished());
  EXPECT_EQ(open_catboost(kNestedTrees)->model().task.classes,
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(CatboostFile, ThePatchChangesLeafValuesAndNothingElse) {
  const auto file = open_catboost(kCatboost);
  Model changed = file->model();
  ASSERT_EQ(changed.theta.size(), 9);
  changed.theta[7] = 2 * 1.0 / 3;
  changed.theta[8] = -1;
  const auto files = apply_patch(file->files(), file->patch(changed));
  const Bytes& bytes = files.at("");
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()),
            replaced_in(replaced_in(kCatboost, "7,8]", "7,0.33333333333333331]"), "[0.25]",
                        "[-0.5]"));
  EXPECT_TRUE(file->patch(file->model()).ranges.empty());
  for (const std::string& name : kGoldenCatboost) {
    const auto golden = open_model_file(catboost_path(name + ".json"));
    Model other = test::with_other_theta(*golden);
    const auto now = apply_patch(golden->files(), golden->patch(other));
    EXPECT_EQ(open_model_file(FileSet::in_memory("m", {{"", now.at("")}}))->model().theta,
              other.theta)
        << name;
  }
}

TEST(CatboostFile, EmptyCellsCountAsTheTextThatTheModelKnows) {
  // The model knows none of these texts: any of them gives what an unknown color gives.
  const auto file = open_catboost(kCatboost);
  EXPECT_EQ(catboost_margins(file->model(), "x,color\n1,\n")(0, 0),
            catboost_margins(file->model(), "x,color\n1,pink\n")(0, 0));
  const Model golden = open_model(catboost_path("counts.cbm"));
  const TreeEnsemble* trees = trees_of(*golden.backbone);
  ASSERT_NE(trees, nullptr);
  EXPECT_EQ(trees->hashes[2].missing, "?");
  // A column that only combinations count: any text could be meant.
  const std::string combined =
      replaced_in(kCatboost, R"("combination_element":"cat_feature_value"})",
                  R"("combination_element":"cat_feature_value"},{"float_feature_index":0,)"
                  R"("border":2.5,"combination_element":"float_feature"})");
  EXPECT_ERROR(
      (void)catboost_margins(open_catboost(combined)->model(), "x,color\n1,red\n1,\n"),
      ErrorKind::bad_value, "rows.csv, line 3, column \"color\": the cell is empty");
}

TEST(CatboostFile, AFlipRunsTheStatisticsAgain) {
  const auto file = open_catboost(kCatboost);
  const TreeEnsemble* trees = trees_of(*file->model().backbone);
  ASSERT_NE(trees, nullptr);
  const std::vector<bool> below = leaves_below(*trees, {"color"});
  EXPECT_EQ(std::count(below.begin(), below.end(), true), 8);
  EXPECT_EQ(file->model().backbone->inputs().names(),
            (std::vector<std::string>{"x", "color"}));
}

struct BadCatboost {
  std::string text, message;
  ErrorKind kind = ErrorKind::bad_model;
};

TEST(BadCatboostFiles, EachTextGetsItsMessage) {
  const auto c = [](const std::string& from, const std::string& to) {
    return replaced_in(kCatboost, from, to);
  };
  const std::vector<BadCatboost> cases = {
      {c("\"Logloss\"", "\"RMSE\""), "the loss RMSE", ErrorKind::unsupported},
      {c("\"loss_function\"", "\"function\""), "does not say which loss",
       ErrorKind::unsupported},
      {c("\"Logloss\"", "\"MultiClass\""), "its leaves have 1 values with the loss"},
      {c("\"float_features\":", "\"text_features\":[{}],\"float_features\":"),
       "made of texts or embeddings", ErrorKind::unsupported},
      {c("\"split_index\":2", "\"split_index\":3"), "tree 0 has split 3, there are 3"},
      {c("\"split_index\":2", "\"split_index\":-1"), "tree 0 has split -1"},
      {c("\"split_index\":2", "\"split_index\":1.5"), "must be a whole number"},
      {c("\"split_index\":2", "\"split_index\":1e300"), "must be a whole number"},
      {c("7,8]", "7]"), "tree 0: leaf_values has 7 numbers for 3 splits"},
      {c("7,8]", "7,NaN]"), "the value of a leaf is not finite"},
      {c("7,8]", "7,1e999]"), "the value of a leaf is not finite"},
      {c("7,8]", "7,[8]]"), "leaf_values must be a list of numbers"},
      {c("[0.25]", "[1,2,3]"), "tree 1: its leaves have 3 values, those of others 1"},
      {c("[2.5]", "[NaN]"), "a border is not a number"},
      {c("[2,[0.125]]", "[0,[0.125]]"), "the scale is 0"},
      {c("[2,[0.125]]", "[2,[1,2]]"), "scale_and_bias: has 2 numbers for 1 outputs"},
      {c("[2,[0.125]]", "[2,[NaN]]"), "the bias is not finite"},
      {c("[2,[0.125]]", "[2,3,4]"), "must be a number and a list"},
      {c("[2,[0.125]]", "{}"), "must be a number and a list"},
      {c("\"flat_feature_index\":1", "\"flat_feature_index\":0"),
       "two columns have the place 0"},
      {c("\"feature_id\":\"x\"", "\"feature_id\":\"color\""),
       "two columns are named color"},
      {c("\"cat_feature_index\":0", "\"cat_feature_index\":4"),
       "a split names column 4, which is not there"},
      {c("\"values\":[-1242798403]", "\"values\":[4242798403]"), "whole number of 32 bits"},
      {c("\"ctr_type\":\"Borders\"", "\"ctr_type\":\"Sums\""),
       "ctr_type Sums is not known"},
      {c("cat_feature_value", "text"), "combination_element text is not known"},
      {c("\"identifier\":\"color table\"", "\"identifier\":\"other\""),
       "\"other\" is missing"},
      {c("\"hash_stride\":3", "\"hash_stride\":2"), "hash_map has 9 entries"},
      {c("\"hash_stride\":3", "\"hash_stride\":1"), "hash_stride is 1"},
      {c("\"913873132368746293\"", "\"red\""), "a key of hash_map is not a number"},
      {c("\"913873132368746293\"", "\"8457219063001154763\""),
       "a category is counted twice"},
      {c("\"target_border_idx\":0", "\"target_border_idx\":1"),
       "a table of counts has another size"},
      {c("\"target_border_idx\":0", "\"target_border_idx\":-1"), "has another size"},
      {c("\"nan_value_treatment\":\"AsTrue\"", "\"nan_value_treatment\":\"Odd\""),
       "nan_value_treatment is not known"},
      {c("\"oblivious_trees\"", "\"others\""), "\"oblivious_trees\" is missing"},
      {kCatboost.substr(0, 900), "damaged JSON at byte"},
      {replaced_in(kNestedTrees, "\"split_index\":0", "\"split_index\":7"),
       "tree 0 has split 7"},
      {replaced_in(kNestedTrees, "[4,5,6]", "[4,5]"),
       "its leaves have 2 values, those of others 3"},
      {replaced_in(kNestedTrees, "\"value\":[4,5,6]", "\"values\":1"),
       "\"split\" is missing"},
      {replaced_in(kNestedTrees, "{\"value\":[4,5,6],\"weight\":1}", "7"),
       "a node must be an object"},
      {c("\"oblivious_trees\":[", "\"oblivious_trees\":[],\"others\":["), "it has no trees",
       ErrorKind::unsupported}};
  for (const BadCatboost& bad : cases) {
    EXPECT_ERROR((void)open_catboost(bad.text), bad.kind, bad.message) << bad.message;
  }
  std::string deep = kNestedTrees.substr(0, kNestedTrees.find("{\"left\""));
  for (int i = 0; i < 100000; ++i) deep += "{\"left\":";
  EXPECT_ERROR((void)open_catboost(deep), ErrorKind::bad_model, "nested deeper");
}

// The binary file with the first `from` replaced by as many bytes.
Bytes binary_with(const std::string& name, const std::string& from, const std::string& to) {
  const Bytes bytes = golden_bytes(catboost_path(name));
  return catboost_bytes(replaced_in(std::string(bytes.begin(), bytes.end()), from, to));
}

std::string numbers_bytes(std::initializer_list<std::int32_t> numbers) {
  std::string text;
  for (const std::int32_t number : numbers) {
    const auto raw = std::bit_cast<std::uint32_t>(number);
    for (int b = 0; b < 4; ++b) text += static_cast<char>(raw >> (8 * b));
  }
  return text;
}

std::string double_bytes(double number) {
  std::string text(sizeof(number), '\0');
  std::memcpy(text.data(), &number, sizeof(number));
  return text;
}

TEST(BadCatboostFiles, EachBinaryFileGetsItsMessage) {
  struct Case {
    std::string file, from, to, message;
    ErrorKind kind = ErrorKind::bad_model;
  };
  const double first = open_model(catboost_path("numbers.cbm")).theta[0];
  const std::vector<Case> cases = {
      {"numbers.cbm", "FlabuffersModel_v1", "FlabuffersModel_v9", "version FlabuffersModel",
       ErrorKind::unsupported},
      {"numbers.cbm", R"("loss_function":{"type":"Log)", R"("loss_function":{"type":"Lug)",
       "the loss Lugloss", ErrorKind::unsupported},
      {"numbers.cbm", R"("loss_function":{)", R"("loss_function":[)", "damaged JSON"},
      {"numbers.cbm", numbers_bytes({4, 3, 3, 3, 3}), numbers_bytes({4, 3, 3, 3, 30}),
       "tree 3: 30 splits at 9, there are 12"},
      {"numbers.cbm", numbers_bytes({4, 3, 3, 3, 3}), numbers_bytes({4, 3, 3, 3, 2}),
       "32 values for 28 leaves"},
      {"numbers.cbm", numbers_bytes({4, 3, 3, 3, 3}), numbers_bytes({4, 3, 3, 3, -3}),
       "tree 3: -3 splits"},
      {"numbers.cbm", numbers_bytes({4, 3, 3, 3, 3}),
       numbers_bytes({2000000000, 3, 3, 3, 3}), "a list is longer than the file"},
      {"numbers.cbm", numbers_bytes({4, 3, 3, 3, 3}), numbers_bytes({3, 3, 3, 3, 3}),
       "3 sizes of trees and 4 places"},
      {"numbers.cbm", numbers_bytes({4, 0, 3, 6, 9}), numbers_bytes({4, 0, 3, 6, 99}),
       "tree 3: 3 splits at 99"},
      {"numbers.cbm", double_bytes(first), double_bytes(std::bit_cast<double>(~0ULL)),
       "the value of a leaf is not finite"},
      {"leafwise.cbm", "FlabuffersModel_v1", "FlabuffersModel_v0", "version",
       ErrorKind::unsupported},
      {"counts.cbm", "static_provider_v1", "static_provider_v2",
       "made of texts or embeddings", ErrorKind::unsupported}};
  for (const Case& one : cases)
    EXPECT_ERROR((void)open_model_file(FileSet::in_memory(
                     "m", {{"", binary_with(one.file, one.from, one.to)}})),
                 one.kind, one.message)
        << one.message;
  Bytes longer = golden_bytes(catboost_path("numbers.cbm"));
  longer.push_back(0);
  EXPECT_ERROR((void)open_model_file(FileSet::in_memory("m", {{"", longer}})),
               ErrorKind::bad_model, "1 bytes after the end of the model");
}

// Every byte of the file, one after the other, is another one: an error or a model.
TEST(BadCatboostFiles, AnyByteMayBeWrong) {
  for (const char* name : {"counts.cbm", "leafwise.cbm"}) {
    const Bytes good = golden_bytes(catboost_path(name));
    for (std::size_t i = 0; i < good.size(); i += 3) {
      Bytes bad = good;
      bad[i] ^= static_cast<std::uint8_t>(i % 2 == 0 ? 0xff : 0x10);
      try {
        const auto file = open_model_file(FileSet::in_memory("m", {{"", bad}}));
        EXPECT_GT(file->model().theta.size(), 0);
      } catch (const Error& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
      }
    }
  }
}

}  // namespace fmd
