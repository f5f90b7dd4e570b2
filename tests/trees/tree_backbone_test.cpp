#include "fmd/model/tree_backbone.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/model/model.h"
#include "fmd/model/passes.h"
#include "model/held_features.h"
#include "support/close.h"

namespace fmd {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

Column numbers(const std::string& name, std::vector<double> values) {
  Column column{.name = name};
  for (const double value : values) column.missing += std::isnan(value);
  column.numbers = std::move(values);
  return column;
}

Column texts(const std::string& name, std::vector<std::string> levels,
             std::vector<std::int32_t> codes) {
  Column column{.name = name, .kind = ColumnKind::category};
  column.levels = std::move(levels);
  column.codes = std::move(codes);
  return column;
}

Table table_of(std::vector<Column> columns) {
  Table table;
  table.source = "rows";
  table.columns = std::move(columns);
  return table;
}

// x < 2 ? leaf 0 : (color in {0, 2} ? leaf 1 : leaf 2), and a tree of one leaf.
TreeEnsemble small() {
  TreeEnsemble trees;
  trees.inputs = {
      {.name = "x", .levels = {}},
      {.name = "color", .kind = ColumnKind::category, .levels = {"red", "green", "blue"}},
      {.name = "unused", .levels = {}}};
  trees.sets = {{0b101}};
  Tree tree;
  tree.nodes = {{.input = 0, .left = -1, .right = 1, .below = 2, .missing_left = true},
                {.input = 1, .left = -2, .right = -3, .set = 0}};
  tree.leaf_names = {1, 3, 4};
  trees.trees = {tree, Tree{}};
  trees.base = {0.5};
  return trees;
}

std::vector<std::int32_t> leaves_of(const Features& X) {
  Scratch scratch;
  const FeatureBlock block = X.block(0, scratch);
  return {block.column.begin() + block.start[0],
          block.column.begin() + block.start[static_cast<std::size_t>(block.rows)]};
}

Model model_of(TreeEnsemble ensemble, Vector theta) {
  Model model;
  std::vector<std::int32_t> output_of;
  for (const Tree& tree : ensemble.trees)
    output_of.insert(output_of.end(), static_cast<std::size_t>(tree.leaves()), tree.output);
  const auto outputs = std::ssize(ensemble.base);
  model.head = std::make_shared<const LinearHead>(
      std::ssize(output_of), outputs,
      LinearHeadOptions{.intercept = false, .output_of = output_of});
  model.backbone = std::make_shared<const TreeBackbone>(std::move(ensemble), "trees");
  model.theta = std::move(theta);
  return model;
}

}  // namespace

TEST(TreeBackbone, RowsFallIntoTheLeavesThatTheSplitsSay) {
  const TreeBackbone trees(small(), "trees");
  const Table table =
      table_of({numbers("x", {1, 2, 3, 3, kNaN, 9}),
                texts("color", {"blue", "green", "red"}, {1, 0, 1, 2, 1, -1})});
  const auto X = trees.features(table, {}, {});
  // On the threshold a row goes right; a missing number goes left, a missing color right.
  EXPECT_EQ(leaves_of(*X), (std::vector<std::int32_t>{0, 3, 1, 3, 2, 3, 1, 3, 0, 3, 2, 3}));
  EXPECT_EQ(trees.cols(), 4);
  EXPECT_TRUE(trees.inputs().reads("x"));
  EXPECT_FALSE(trees.inputs().reads("unused"));
}

TEST(TreeBackbone, TheBaseIsTheOffset) {
  Vector theta(4);
  theta << 1, 2, 4, 8;
  const Model model = model_of(small(), theta);
  const Table table = table_of({numbers("x", {1, 3}), texts("color", {"green"}, {0, 0})});
  const auto X = model.backbone->features(table, {}, {});
  Rows rows;
  rows.X = X.get();
  const Matrix z = all_logits(*model.head, rows, model.theta, {});
  EXPECT_DOUBLE_EQ(z(0, 0), 0.5 + 1 + 8);
  EXPECT_DOUBLE_EQ(z(1, 0), 0.5 + 4 + 8);
}

TEST(TreeBackbone, MissingIsZeroOrNothingWhereTheSplitSaysSo) {
  for (const bool left : {false, true}) {
    for (const TreeMissing rule :
         {TreeMissing::none, TreeMissing::zero, TreeMissing::nan}) {
      TreeEnsemble one;
      one.inputs = {{.name = "x", .levels = {}}};
      Tree tree;
      tree.nodes = {
          {.left = -1, .right = -2, .below = 1, .missing = rule, .missing_left = left}};
      tree.leaf_names = {0, 1};
      one.trees = {tree};
      const TreeBackbone trees(one, "trees");
      const Table table = table_of({numbers("x", {kNaN, 0, 1e-36, 0.5, 1})});
      const std::int32_t away = left ? 0 : 1;
      const std::int32_t nan = rule == TreeMissing::none ? 0 : away;
      const std::int32_t zero = rule == TreeMissing::zero ? away : 0;
      EXPECT_EQ(leaves_of(*trees.features(table, {}, {})),
                (std::vector<std::int32_t>{nan, zero, zero, 0, 1}));
    }
  }
}

TEST(TreeBackbone, SinglePrecisionRoundsBeforeItCompares) {
  TreeEnsemble one;
  one.inputs = {{.name = "x", .levels = {}}};
  Tree tree;
  tree.nodes = {{.left = -1, .right = -2, .below = static_cast<double>(0.1F)}};
  tree.leaf_names = {0, 1};
  one.trees = {tree};
  const Table table = table_of({numbers("x", {0.1})});
  EXPECT_EQ(leaves_of(*TreeBackbone(one, "t").features(table, {}, {}))[0], 0);
  one.single = true;
  EXPECT_EQ(leaves_of(*TreeBackbone(one, "t").features(table, {}, {}))[0], 1);
}

TEST(TreeBackbone, AFlipIsTheSameAsTheFlippedTable) {
  const TreeBackbone trees(small(), "trees");
  Rng rng(3, "rows");
  std::vector<double> x;
  std::vector<std::int32_t> color;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(static_cast<double>(rng.below(5)));
    color.push_back(static_cast<std::int32_t>(rng.below(3)));
  }
  const Table table =
      table_of({numbers("x", x), texts("color", {"red", "green", "blue"}, color)});
  const Attribute attribute =
      read_attribute(table, {.name = "color", .columns = {"color"}});
  const PairPlan plan = flip_plan(attribute);
  const auto X = trees.features(table, {}, {});
  const Inputs inputs = table;
  const auto flipped = trees.flipped(&inputs, *X, attribute, plan, {});
  const Table changed = flipped_rows(table, attribute, plan);
  EXPECT_EQ(leaves_of(*flipped), leaves_of(*trees.features(changed, {}, {})));
  EXPECT_ERROR((void)trees.flipped(nullptr, *X, attribute, plan, {}),
               ErrorKind::unsupported, "must be run again");
}

TEST(TreeBackbone, TheHashIsThatOfTheStructure) {
  TreeEnsemble other = small();
  other.trees[0].nodes[0].below = 3;
  EXPECT_EQ(TreeBackbone(small(), "a").hash(), TreeBackbone(small(), "b").hash());
  EXPECT_NE(TreeBackbone(small(), "a").hash(), TreeBackbone(other, "a").hash());
}

TEST(TreeBackbone, ColumnsOfTheWrongKindAndUnknownTextsAreNamed) {
  const TreeBackbone trees(small(), "trees");
  EXPECT_ERROR(
      (void)trees.features(table_of({texts("x", {"a"}, {0}), texts("color", {"red"}, {0})}),
                           {}, {}),
      ErrorKind::bad_value, "column \"x\" has categories, the model reads numbers");
  EXPECT_ERROR((void)trees.features(
                   table_of({numbers("x", {1}), texts("color", {"pink"}, {0})}), {}, {}),
               ErrorKind::unknown_category, "\"pink\" is not one of the values");
  EXPECT_ERROR((void)trees.features(table_of({numbers("x", {1})}), {}, {}),
               ErrorKind::missing_column, "color");
}

TEST(TreeEnsemble, DamageIsNamed) {
  const auto damaged = [](auto change) {
    TreeEnsemble trees = small();
    change(trees);
    check_trees(trees, "m");
  };
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[0].nodes[0].right = 7; }),
               ErrorKind::bad_model, "m: tree 0 leads to split 7, there are 2");
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[0].nodes[0].right = 0; }),
               ErrorKind::bad_model, "leads to split 0 twice");
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[0].nodes[0].left = -9; }),
               ErrorKind::bad_model, "leads to leaf 8, there are 3");
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[0].nodes[0].input = 3; }),
               ErrorKind::bad_model, "splits on input 3, there are 3");
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[0].nodes[0].below = kNaN; }),
               ErrorKind::bad_model, "not a number");
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[1].output = 1; }),
               ErrorKind::bad_model, "counts for output 1, there are 1");
  EXPECT_ERROR(damaged([](TreeEnsemble& t) { t.trees[0].leaf_names.push_back(9); }),
               ErrorKind::bad_model, "no split leads to");
}

TEST(HoldFeatures, TheHeldLeavesBecomeTheOffset) {
  EXPECT_EQ(leaves_below(small(), {"color"}),
            (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(leaves_below(small(), {"x"}), (std::vector<bool>{true, true, true, false}));
  Vector theta(4);
  theta << 1, 2, 4, 8;
  const Model model = model_of(small(), theta);
  const Table table =
      table_of({numbers("x", {1, 3, 3}), texts("color", {"red", "green"}, {0, 0, 1})});
  const auto X = model.backbone->features(table, {}, {});
  const std::vector<std::int32_t> place = {-1, 0, 1, -1};
  const auto part = hold_features(*X, place, linear_head(model), theta, {});
  EXPECT_EQ(part->cols(), 2);
  const LinearHead head(2, 1, {.intercept = false, .output_of = {0, 0}});
  Rows whole, top;
  whole.X = X.get();
  top.X = part.get();
  Vector few(2);
  few << 2, 4;
  EXPECT_CLOSE(all_logits(head, top, few, {}), all_logits(*model.head, whole, theta, {}),
               1e-15);
}

}  // namespace fmd
