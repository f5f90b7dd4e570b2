#include <algorithm>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/data/csv.h"
#include "fmd/formats/model_file.h"
#include "fmd/model/passes.h"
#include "fmd/model/tree_backbone.h"
#include "support/check_model_file.h"
#include "support/close.h"

namespace fmd {
namespace {

std::filesystem::path tree_path(const std::string& name) {
  return std::filesystem::path(FMD_TEST_DIR) / "files/onnx_trees" / name;
}

std::string tree_text(const std::string& name) {
  const FileView file = FileView::open(tree_path(name));
  return {file.bytes().begin(), file.bytes().end()};
}

Table tree_rows(bool holes) {
  return parse_csv(tree_text(holes ? "holes.csv" : "rows.csv"), "rows.csv", {});
}

std::unique_ptr<ModelFile> open_trees(const std::string& text) {
  return open_model_file(
      FileSet::in_memory("m.onnx", {{"", Bytes(text.begin(), text.end())}}));
}

// Every `from` is another text of the same length.
std::string everywhere(std::string text, const std::string& from, const std::string& to) {
  std::size_t count = 0;
  for (std::size_t i = text.find(from); i != text.npos; i = text.find(from, i + 1)) {
    text.replace(i, from.size(), to);
    ++count;
  }
  return count == 0 ? "no such text: " + from : text;
}

struct KnownTrees {
  Index outputs;
  Link link;
  bool texts = false;  // its classes are texts
};
const std::map<std::string, KnownTrees>& known_trees() {
  static const std::map<std::string, KnownTrees> trees = {
      {"boosted", {1, Link::sigmoid}},      {"boosted_three", {3, Link::softmax, true}},
      {"forest", {1, Link::identity}},      {"forest_three", {3, Link::identity}},
      {"xgboost_two", {1, Link::sigmoid}},  {"xgboost_three", {3, Link::softmax}},
      {"lightgbm_two", {1, Link::sigmoid}}, {"lightgbm_three", {3, Link::softmax}},
      {"catboost_two", {1, Link::sigmoid}}, {"catboost_three", {3, Link::softmax}}};
  return trees;
}

}  // namespace

TEST(OnnxTrees, AnswersAreThoseOfOnnxRuntime) {
  const auto answers = nlohmann::json::parse(tree_text("answers.json"));
  for (const auto& [name, known] : known_trees()) {
    SCOPED_TRACE(name);
    const auto file = open_model_file(tree_path(name + ".onnx"));
    const Model& model = file->model();
    EXPECT_EQ(model.head->outputs(), known.outputs);
    EXPECT_EQ(model.head->link(), known.link);
    EXPECT_EQ(model.task.classes.size(), known.texts ? 3U : 0U);
    EXPECT_EQ(file->format(), "ONNX");
    const Table rows = tree_rows(answers.at(name).at("holes").get<bool>());
    Matrix z = test::logits_of(model, rows);
    const auto& want = answers.at(name).at("p");
    ASSERT_EQ(want.size(), static_cast<std::size_t>(z.rows()));
    for (Index i = 0; i < z.rows(); ++i) {
      Vector p = z.row(i);
      if (known.link == Link::softmax) p = (p.array() - p.maxCoeff()).exp().matrix();
      if (known.link == Link::softmax) p /= p.sum();
      if (known.link == Link::sigmoid) p[0] = 1 / (1 + std::exp(-p[0]));
      for (Index k = 0; k < p.size(); ++k) {
        const auto column = static_cast<std::size_t>(p.size() == 1 ? 1 : k);
        EXPECT_NEAR(p[k], want[static_cast<std::size_t>(i)][column].get<double>(), 1e-6)
            << "row " << i << ", class " << column;
      }
    }
  }
}

TEST(OnnxTrees, HoldWhatEveryFormatHolds) {
  for (const char* name : {"boosted.onnx", "lightgbm_three.onnx", "catboost_two.onnx"}) {
    SCOPED_TRACE(name);
    test::check_model_file({.path = tree_path(name),
                            .formats = model_formats(),
                            .table = tree_rows(false),
                            .precision = 1e-6});
  }
}

// CatBoost stores -v and v in each leaf.
TEST(OnnxTrees, BothPlacesOfAValueChange) {
  const auto file = open_model_file(tree_path("catboost_two.onnx"));
  Model changed = file->model();
  changed.theta[3] = 0.5;
  const Patch patch = file->patch(changed);
  ASSERT_EQ(patch.ranges.size(), 2U);
  EXPECT_EQ(patch.ranges[0].bytes, (Bytes{0, 0, 0, 0xbf}));
  EXPECT_EQ(patch.ranges[1].bytes, (Bytes{0, 0, 0, 0x3f}));
}

TEST(OnnxTrees, ATaskNamesTheColumns) {
  const Model model = open_model(tree_path("boosted.onnx"));
  EXPECT_EQ(model.backbone->inputs().columns[2].name, "f2");
  const auto named =
      model.backbone->with_inputs({{.columns = {"age", "tenth", "code"}}}, {});
  ASSERT_NE(named, nullptr);
  EXPECT_EQ(named->inputs().columns[2].name, "code");
  EXPECT_EQ(model.backbone->with_inputs({}, {}), nullptr);
  EXPECT_ERROR((void)model.backbone->with_inputs({{.columns = {"age"}}}, {}),
               ErrorKind::bad_task, "[[inputs]] names 1 columns, the model reads 3");
  EXPECT_ERROR((void)model.backbone->with_inputs({{.columns = {"a", "b", "a"}}}, {}),
               ErrorKind::bad_task, "names the column \"a\" twice");
}

TEST(OnnxTrees, ChainsOfQuestionsAreOneSplit) {
  const Model model = open_model(tree_path("lightgbm_two.onnx"));
  const TreeEnsemble* trees = trees_of(*model.backbone);
  ASSERT_NE(trees, nullptr);
  EXPECT_FALSE(trees->sets.empty());
  EXPECT_TRUE(trees->whole_codes);
}

struct BadTrees {
  std::string file, from, to, message;
  ErrorKind kind = ErrorKind::bad_model;
};

TEST(BadOnnxTrees, EachGetsItsMessage) {
  const std::string one = "\x40", nan = "\xff\xff\xff\x7f";
  const auto number = [&](const char* name, char value) {
    return std::string(name) + one + std::string(1, value);
  };
  const std::string boosted = tree_text("boosted.onnx");
  const auto after = [&](const std::string& name, std::size_t size) {
    const std::size_t place = boosted.find(name);
    return boosted.substr(place, name.size() + size);
  };
  const std::string weight = after("class_weights", 5), value = after("nodes_values", 5),
                    leaf = after("class_nodeids", 2);
  const std::vector<BadTrees> cases = {
      {"boosted", "LOGISTIC", "LUGISTIC", "post_transform LUGISTIC is not read",
       ErrorKind::unsupported},
      {"boosted", "BRANCH_LEQ", "BRANCH_LEX", "a split of kind BRANCH_LEX"},
      {"boosted", "TreeEnsembleClassifier", "TreeEnsembleRegressors",
       "its trees are a TreeEnsembleRegressors", ErrorKind::unsupported},
      {"boosted", "nodes_modes", "nodes_moods", "nodes_modes has 0 entries"},
      {"boosted", "nodes_values", "nodes_waives", "nodes_values has 0 entries"},
      {"boosted", "class_weights", "class_heights", "class_weights have"},
      {"boosted", "classlabels_int64s", "classlabels_int64z", "it has 0 classes",
       ErrorKind::unsupported},
      {"boosted", number("nodes_truenodeids", 1), number("nodes_truenodeids", 99),
       "a split leads to node 99, which is not there"},
      {"boosted", number("nodes_truenodeids", 1), number("nodes_truenodeids", 0),
       "tree 0: has a node that no split leads to"},
      {"boosted", number("nodes_falsenodeids", 8), number("nodes_falsenodeids", 2),
       "two splits lead to node 2", ErrorKind::unsupported},
      {"boosted", number("nodes_nodeids", 0), number("nodes_nodeids", 1),
       "tree 0: two nodes have the number 1"},
      {"boosted", number("class_ids", 0), number("class_ids", 5),
       "a weight is of class 5, there are 2"},
      {"boosted", leaf, leaf.substr(0, leaf.size() - 1) + '\0',
       "class_weights belong to nodes that are no leaves"},
      {"boosted", weight, weight.substr(0, weight.size() - 4) + nan,
       "the value of a leaf is not finite"},
      {"boosted", value, value.substr(0, value.size() - 4) + nan,
       "tree 0: a threshold is not a number"},
      {"lightgbm_three", "SOFTMAX", "PROBITS", "post_transform PROBITS is not read",
       ErrorKind::unsupported},
      {"lightgbm_two", "ZipMap", "ZapMip", "comes after the trees",
       ErrorKind::unsupported}};
  for (const BadTrees& bad : cases) {
    EXPECT_ERROR(
        (void)open_trees(everywhere(tree_text(bad.file + ".onnx"), bad.from, bad.to)),
        bad.kind, bad.message)
        << bad.message;
  }
}

TEST(BadOnnxTrees, AnyByteMayBeWrong) {
  for (const char* name : {"boosted.onnx", "lightgbm_two.onnx"}) {
    const std::string good = tree_text(name);
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (i % 2 == 0 ? 0x7f : 0x10));
      try {
        EXPECT_GT(open_trees(bad)->model().head->outputs(), 0);
      } catch (const Error& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
      }
    }
  }
}

}  // namespace fmd
