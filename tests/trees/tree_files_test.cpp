#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/tree_rounds.h"
#include "fmd/model/passes.h"
#include "fmd/model/tree_backbone.h"
#include "support/close.h"
#include "trees/small_models.h"

namespace fmd {
namespace {

using test::kLightgbm;
using test::kXgboost;
using test::with;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// With floats of 32 bits, as XGBoost writes UBJSON.
using FloatJson = nlohmann::basic_json<std::map, std::vector, std::string, bool,
                                       std::int64_t, std::uint64_t, float>;

Bytes ubjson_of(const std::string& json) {
  return FloatJson::to_ubjson(FloatJson::parse(json), true, true);
}

std::unique_ptr<ModelFile> open_bytes(Bytes bytes) {
  return open_model_file(FileSet::in_memory("m", {{"", std::move(bytes)}}));
}

const char* const kFiveRows =
    "x,color,sex\n1,red,0\n2.5,red,1\n3,green,0\n,green,1\n9,red,0.5\n";

Matrix margins(const Model& model) {
  const Table table =
      parse_csv(kFiveRows, "rows.csv", {.types = model.backbone->inputs().types()});
  const auto X = model.backbone->features(table, {}, {});
  Rows rows;
  rows.X = X.get();
  return all_logits(*model.head, rows, model.theta, {});
}

// Both files hold x < 2.5 ? -.125 : color green ? .75 : .5, and sex < .5 ? -.25 : .25;
// LightGBM's splits take the threshold to the left.
const std::vector<double> kXgboostMargins = {-0.375, 0.75, 0.5, 0.125, 0.75};
const std::vector<double> kLightgbmMargins = {-0.375, 0.125, 0.5, 0.125, 0.25};

std::string text_of(const std::map<std::string, Bytes>& files) {
  const Bytes& bytes = files.at("");
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST(TreeFiles, MarginsByHand) {
  EXPECT_CLOSE(Matrix(margins(open_bytes(bytes_of(kXgboost))->model()).transpose()),
               Matrix(Eigen::Map<const Matrix>(kXgboostMargins.data(), 1, 5)), 1e-15);
  EXPECT_CLOSE(Matrix(margins(open_bytes(ubjson_of(kXgboost))->model()).transpose()),
               Matrix(Eigen::Map<const Matrix>(kXgboostMargins.data(), 1, 5)), 1e-15);
  EXPECT_CLOSE(Matrix(margins(open_bytes(bytes_of(kLightgbm))->model()).transpose()),
               Matrix(Eigen::Map<const Matrix>(kLightgbmMargins.data(), 1, 5)), 1e-15);
}

TEST(TreeFiles, ThePatchChangesLeafValuesAndNothingElse) {
  const auto xgboost = open_bytes(bytes_of(kXgboost));
  Model changed = xgboost->model();
  ASSERT_EQ(changed.theta.size(), 5);
  changed.theta[2] = 8.25;  // the third leaf from the left: node 4 of tree 0
  EXPECT_EQ(text_of(apply_patch(xgboost->files(), xgboost->patch(changed))),
            with(kXgboost, "5E-1,7.5E-1]", "5E-1,8.25]"));
  EXPECT_TRUE(xgboost->patch(xgboost->model()).ranges.empty());

  const auto binary = open_bytes(ubjson_of(kXgboost));
  const auto files = apply_patch(binary->files(), binary->patch(changed));
  EXPECT_EQ(files.at("").size(), ubjson_of(kXgboost).size());
  EXPECT_EQ(open_bytes(files.at(""))->model().theta, changed.theta);

  const auto lightgbm = open_bytes(bytes_of(kLightgbm));
  changed = lightgbm->model();
  changed.theta[4] = 1.0 / 3;
  EXPECT_EQ(text_of(apply_patch(lightgbm->files(), lightgbm->patch(changed))),
            with(with(kLightgbm, "-0.25 0.25", "-0.25 0.33333333333333331"),
                 "tree_sizes=300 200", "tree_sizes=300 215"));
}

TEST(TreeFiles, BaseScoresInEveryForm) {
  const auto base = [](const std::string& text) {
    return trees_of(*open_bytes(bytes_of(with(kXgboost, "[5E-1]", text)))->model().backbone)
        ->base[0];
  };
  EXPECT_DOUBLE_EQ(base("5E-1"), 0);
  EXPECT_NEAR(base("2.5E-1"), -std::log(3.0), 1e-15);
  EXPECT_NEAR(base("[2.5E-1]"), -std::log(3.0), 1e-15);
  const std::string raw =
      with(with(kXgboost, "binary:logistic", "binary:logitraw"), "[5E-1]", "-2.5E-1");
  EXPECT_DOUBLE_EQ(trees_of(*open_bytes(bytes_of(raw))->model().backbone)->base[0], -0.25);
}

TEST(TreeFiles, SeveralClassesAndDartWeights) {
  const std::string three = with(with(with(kXgboost, "binary:logistic", "multi:softprob"),
                                      R"("num_class":"0")", R"("num_class":"3")"),
                                 R"("tree_info":[0,0])", R"("tree_info":[2,1])");
  const Model model = open_bytes(bytes_of(three))->model();
  EXPECT_EQ(model.head->outputs(), 3);
  EXPECT_EQ(model.head->link(), Link::softmax);
  EXPECT_DOUBLE_EQ(margins(model)(0, 2), 0.5 - 0.125);
  const std::string dart =
      with(with(kXgboost, R"("gradient_booster":{"model")",
                R"("gradient_booster":{"gbtree":{"model")"),
           R"("name":"gbtree")", R"("name":"gbtree"},"name":"dart","weight_drop":[2,0])");
  // The second tree counts nothing.
  const Model weighted = open_bytes(bytes_of(dart))->model();
  EXPECT_EQ(weighted.theta.size(), 3);
  EXPECT_DOUBLE_EQ(margins(weighted)(0, 0), -0.25);
}

TEST(TreeFiles, LinearBoostersAreLinearHeads) {
  const std::string linear =
      R"({"learner":{"feature_names":["x","sex"],"feature_types":[],"gradient_booster":{)"
      R"("model":{"boosted_rounds":9,"weights":[5E-1,-2E0,1E0]},"name":"gblinear"},)"
      R"("learner_model_param":{"base_score":"2.5E-1","num_class":"0","num_feature":"2"},)"
      R"("objective":{"name":"binary:logistic"}},"version":[3,2,0]})";
  const double base = -std::log(3.0);
  for (const bool binary : {false, true}) {
    const auto file = open_bytes(binary ? ubjson_of(linear) : bytes_of(linear));
    const Matrix z = margins(file->model());
    EXPECT_NEAR(z(0, 0), base + 1 + 0.5, 1e-15);
    EXPECT_NEAR(z(3, 0), base + 1 - 2, 1e-15);  // a missing x counts 0
    Model changed = file->model();
    changed.theta[2] = 4;
    const auto files = apply_patch(file->files(), file->patch(changed));
    EXPECT_NEAR(open_bytes(files.at(""))->model().theta[2], 4, 1e-6);
    EXPECT_EQ(text_of(files).find("[5E-1,-2E0,5.098612") != std::string::npos, !binary);
  }
}

TEST(TreeFiles, CategoriesOfAColumnThatNoSplitCouldUse) {
  std::string text = with(kLightgbm, "max_feature_idx=2", "max_feature_idx=3");
  text = with(text, "feature_names=x color sex", "feature_names=x flat color sex");
  text = with(text, "feature_infos=[0:9] 0:1", "feature_infos=[0:9] none 0:1");
  text = with(text, "split_feature=0 1", "split_feature=0 2");
  text = with(text, "split_feature=2\n", "split_feature=3\n");
  text = with(text, R"([["red", "green"]])", R"([["p", "q"], ["red", "green"]])");
  EXPECT_ERROR((void)open_bytes(bytes_of(text)), ErrorKind::unsupported,
               "pandas_categorical has 2 columns and the trees 1");
  const std::string known =
      with(text, "[boosting: gbdt]\n", "[boosting: gbdt]\n[categorical_feature: 1,2]\n");
  const auto inputs = open_bytes(bytes_of(known))->model().backbone->inputs().columns;
  EXPECT_EQ(inputs[1].levels, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(inputs[2].levels, (std::vector<std::string>{"red", "green"}));
  EXPECT_EQ(inputs[0].kind, ColumnKind::number);
  for (const char* wrong : {"0,1", "1,9", "1,2,x", ""})
    EXPECT_ERROR(
        (void)open_bytes(bytes_of(with(known, "[categorical_feature: 1,2]",
                                       fmt::format("[categorical_feature: {}]", wrong)))),
        ErrorKind::unsupported, "pandas_categorical has 2 columns");
}

TEST(TreeFiles, RoundsOfEarlyStopping) {
  const auto leaves = [](const std::string& text, TreeRounds rounds) {
    return open_model_file(FileSet::in_memory("m", {{"", bytes_of(text)}}),
                           with_tree_rounds(model_formats(), rounds))
        ->model()
        .theta.size();
  };
  const std::string booster =
      with(kXgboost, R"("attributes":{})", R"("attributes":{"best_iteration":"0"})");
  const std::string wrapper =
      with(booster, R"("best_iteration")", R"("scikit_learn":"{}","best_iteration")");
  EXPECT_EQ(leaves(booster, TreeRounds::as_library), 5);
  EXPECT_EQ(leaves(booster, TreeRounds::all), 5);
  EXPECT_EQ(leaves(booster, TreeRounds::best), 3);
  EXPECT_EQ(leaves(wrapper, TreeRounds::as_library), 3);
  EXPECT_EQ(leaves(wrapper, TreeRounds::all), 5);
  EXPECT_EQ(leaves(kXgboost, TreeRounds::all), 5);
  EXPECT_ERROR((void)leaves(kXgboost, TreeRounds::best), ErrorKind::bad_option,
               "--trees best: m has no best_iteration");
  EXPECT_ERROR((void)leaves(kLightgbm, TreeRounds::best), ErrorKind::bad_option,
               "--trees: m is no file of XGBoost");
  EXPECT_EQ(open_bytes(bytes_of(wrapper))->details()[0].first, "rounds");
  EXPECT_TRUE(open_bytes(bytes_of(kXgboost))->details().empty());
}

struct BadModel {
  std::string text, message;
  ErrorKind kind = ErrorKind::bad_model;
};

std::vector<BadModel> bad_xgboost() {
  const auto x = [](const std::string& from, const std::string& to) {
    return with(kXgboost, from, to);
  };
  std::vector<BadModel> cases = {
      {x(R"("left_children":[1,-1,3)", R"("left_children":[7,-1,3)"),
       "tree 0: node 0 leads to node 7, there are 5"},
      {x(R"("left_children":[1,-1,3)", R"("left_children":[-7,-1,3)"),
       "tree 0: node 0 leads to node -7"},
      {x(R"("left_children":[1,-1,3)", R"("left_children":[0,-1,3)"),
       "node 0 leads to node 0"},
      {x(R"("right_children":[2,-1,4)", R"("right_children":[1,-1,4)"),
       "tree 0: node 1 has two parents"},
      {x(R"("right_children":[2,-1,4)", R"("right_children":[2,-1,2)"), "node 2 has two"},
      {x(R"("right_children":[2,-1,4)", R"("right_children":[2.5,-1,4)"),
       "leads to node 2.5"},
      {x(R"("left_children":[1,-1,3)", R"("left_children":[NaN,-1,3)"),
       "leads to node nan"},
      {x(R"("left_children":[1,-1,3,-1,-1])", R"("left_children":[1,-1,3,-1])"),
       "right_children has 5 entries for 4 nodes"},
      {x(R"("left_children":[1,-1,3,-1,-1])", R"("left_children":[])"), "tree 0"},
      {x(R"("split_indices":[0,0,1)", R"("split_indices":[3,0,1)"),
       "node 0 splits on feature 3, there are 3"},
      {x(R"("split_indices":[0,0,1)", R"("split_indices":[-1,0,1)"),
       "splits on feature -1"},
      {x("5E-1,7.5E-1]", "5E-1,NaN]"), "the value of a leaf is not finite"},
      {x("5E-1,7.5E-1]", "5E-1,1E400]"), "the value of a leaf is not finite"},
      {x("5E-1,7.5E-1]", "5E-1,Infinity]"), "not finite"},
      {x("[2.5E0,", "[NaN,"), "tree 0 has a threshold that is not a number"},
      {x(R"("categories_nodes":[2])", R"("categories_nodes":[9])"),
       "tree 0: a list of categories lies outside"},
      {x(R"("categories_sizes":[1])", R"("categories_sizes":[1000000])"), "lies outside"},
      {x(R"("categories":[1])", R"("categories":[-4])"), "a category -4"},
      {x(R"("categories_segments":[0])", R"("categories_segments":[])"),
       "the lists of categories have different lengths"},
      {x(R"("tree_info":[0,0])", R"("tree_info":[0])"), "tree_info has 1 entries for 2"},
      {x(R"("tree_info":[0,0])", R"("tree_info":[0,4])"), "tree 1 is of class 4"},
      {x(R"("num_feature":"3","num_target")", R"("num_feature":"2","num_target")"),
       "has 3 names for 2 features"},
      {x(R"("num_feature":"3","num_target")", R"("num_feature":"-3","num_target")"),
       "must be a count"},
      {x(R"("num_feature":"3","num_target")", R"("num_feature":"999999999","num_target")"),
       "features are too many"},
      {x(R"("base_score":"[5E-1]")", R"("base_score":"two")"), "must be a number"},
      {x(R"("base_score":"[5E-1]")", R"("base_score":"1.5")"), "must be between 0 and 1"},
      {x(R"("base_score":"[5E-1]")", R"("base_score":"[5E-1,5E-1]")"),
       "has 2 numbers for 1 outputs"},
      {x(R"("base_score":"[5E-1]")", R"("base_score":"[5E-1")"), "without an end"},
      {x(R"("base_score":"[5E-1]")", R"("base_score":5)"), "is a number, must be a text"},
      {x(R"("num_class":"0")", R"("num_class":"3")"), "is 3 with the objective"},
      {x("\"learner\":", "\"teacher\":"), "\"learner\" is missing"},
      {x(R"("gbtree"})", R"("forest"})"), "booster forest is not read",
       ErrorKind::unsupported},
      {x(R"("gbtree"})", R"("gblinear"})"), "\"weights\" is missing"},
      {x("binary:logistic", "rank:ndcg"), "the objective rank:ndcg",
       ErrorKind::unsupported},
      {x(R"("size_leaf_vector":"1")", R"("size_leaf_vector":"3")"), "multi_output_tree",
       ErrorKind::unsupported},
      {x(R"("num_target":"1")", R"("num_target":"2")"), "several labels",
       ErrorKind::unsupported},
      {x("114,101,100", "114,-61,100"), "not ASCII", ErrorKind::unsupported},
      {x(R"("offsets":[0,3,8])", R"("offsets":[0,9,8])"), "offsets must ascend"},
      {x(R"("version":[3,2,0])", R"("learner":{})"), "the key \"learner\" appears twice"},
      {x(R"("version":[3,2,0]})", R"("version":[3,2,0]}})"), "text after the end"},
      {x(R"("version":[3,2,0])", R"("version":[3,2,x])"), "a number is expected"},
      {x("\"x\",\"color\"", "\"\xff\",\"color\""), "not UTF-8"},
      {kXgboost.substr(0, kXgboost.size() / 2), "damaged JSON at byte"},
      {"{\"learner\":" + std::string(100000, '['), "nested deeper than 64"},
      {x(R"("trees":[)", R"("trees":[],"others":[)"), "tree_info has 2 entries for 0"}};
  return cases;
}

std::vector<BadModel> bad_lightgbm() {
  const auto l = [](const std::string& from, const std::string& to) {
    return with(kLightgbm, from, to);
  };
  return {
      {l("left_child=-1 -2", "left_child=5 -2"), "tree 0 leads to split 5, there are 2"},
      {l("left_child=-1 -2", "left_child=-9 -2"), "tree 0 leads to leaf 8, there are 3"},
      {l("right_child=1 -3", "right_child=0 -3"), "tree 0 leads to split 0 twice"},
      {l("right_child=1 -3", "right_child=1 -2"), "leads to leaf 1 twice"},
      {l("left_child=-1 -2", "left_child=-1"), "left_child has 1 numbers for 2 splits"},
      {l("left_child=-1 -2", "left_child=-1.5 -2"), "must be a whole number"},
      {l("split_feature=0 1", "split_feature=0 3"), "splits on input 3, there are 3"},
      {l("num_leaves=3", "num_leaves=4"), "leaf_value has 3 numbers, num_leaves is 4"},
      {l("num_leaves=3", "num_leaves=1000000000000"), "leaf_value has 3 numbers"},
      {l("-0.125 0.75", "nan 0.75"), "not finite"},
      {l("-0.125 0.75", "-0.125 zero"), "which is not a number"},
      {l("threshold=2.5 0", "threshold=nan 0"), "threshold that is not a number"},
      {l("threshold=2.5 0", "threshold=2.5 4"), "a split names set 4, there are 1"},
      {l("cat_boundaries=0 1", "cat_boundaries=0 9"), "cat_boundaries must ascend"},
      {l("cat_threshold=2", "cat_threshold=-2"), "not of 32 bits"},
      {l("decision_type=10 1", "decision_type=99 1"), "decision_type is not known"},
      {l("max_feature_idx=2", "max_feature_idx=7"), "feature_names has 3 names"},
      {l("feature_infos=[0:9] 0:1", "feature_infos=0:1"), "feature_infos has 2 entries"},
      {l("tree_sizes=300 200", "tree_sizes=300"), "tree_sizes has 1 numbers for 2 trees"},
      {l("num_tree_per_iteration=1", "num_tree_per_iteration=3"),
       "num_tree_per_iteration is 3 with this objective"},
      {l("objective=binary sigmoid:1", "objective=binary sigmoid:-1"),
       "must be a number > 0"},
      {l("objective=binary sigmoid:1", "objective=regression"), "the objective regression",
       ErrorKind::unsupported},
      {l("objective=binary sigmoid:1\n", ""), "names no objective", ErrorKind::unsupported},
      {l("is_linear=0", "is_linear=1"), "linear_tree", ErrorKind::unsupported},
      {l("version=v4", "version=v2"), "version v2", ErrorKind::unsupported},
      {l("[[\"red\", \"green\"]]", "[[\"red\"], [\"green\"]]"), "pandas_categorical has 2",
       ErrorKind::unsupported},
      {l("[[\"red\", \"green\"]]", "[[\"red\""), "damaged JSON"},
      {l("num_class=1\n", "num_class=1\r\n"), "carriage return"},
      {l("Tree=1\n", "tree 1\n"), "a tree is expected"},
      {l("num_leaves=3\n", "num_leaves=3\nnum_leaves=3\n"), "num_leaves appears twice"},
      {l("x color sex", "x \xff sex"), "not UTF-8"},
      {kLightgbm.substr(0, kLightgbm.find("end of trees")), "the file is cut off"}};
}

TEST(BadModels, EachGetsItsMessage) {
  std::vector<BadModel> cases = bad_xgboost();
  const std::vector<BadModel> more = bad_lightgbm();
  cases.insert(cases.end(), more.begin(), more.end());
  EXPECT_GE(cases.size(), 75U);
  for (const BadModel& bad : cases)
    EXPECT_ERROR((void)open_bytes(bytes_of(bad.text)), bad.kind, bad.message)
        << bad.message;
}

TEST(BadModels, UbjsonThatLies) {
  const Bytes good = ubjson_of(kXgboost);
  for (std::size_t size = 0; size < good.size(); size += 7)
    EXPECT_THROW(
        (void)open_bytes(Bytes(good.begin(), good.begin() + static_cast<Index>(size))),
        Error);
  const auto text = [](std::string bytes) { return bytes_of(bytes); };
  const std::string start = "{U\x07learner";
  EXPECT_ERROR((void)open_bytes(text(start + "SL\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f")),
               ErrorKind::bad_model, "bytes are left");
  EXPECT_ERROR((void)open_bytes(text(start + "[$d#L\x01\x01\x01\x01\x01\x01\x01\x01")),
               ErrorKind::bad_model, "bytes are left");
  EXPECT_ERROR((void)open_bytes(text(start + "[#i\xf0")), ErrorKind::bad_model,
               "count of -16");
  EXPECT_ERROR((void)open_bytes(text(start + "?")), ErrorKind::bad_model,
               "type ? is not known");
  EXPECT_ERROR((void)open_bytes(text(start + "[$d]")), ErrorKind::bad_model,
               "a type without a count");
  EXPECT_ERROR((void)open_bytes(text(start + std::string(1000, '['))), ErrorKind::bad_model,
               "nested deeper");
}

}  // namespace fmd
