#include "fmd/model/backbone.h"

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "fmd/model/cut.h"
#include "fmd/model/encoder_backbone.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/model.h"
#include "support/check_backbone.h"
#include "support/problems.h"

namespace fmd {
namespace {

// levels: of the column "job"; many of them make sparse features.
Table people(Index rows, int levels) {
  Rng rng(3, "people");
  Table table;
  table.source = "people";
  table.columns = {{.name = "age", .kind = ColumnKind::number},
                   {.name = "sex", .kind = ColumnKind::category},
                   {.name = "job", .kind = ColumnKind::category},
                   {.name = "town", .kind = ColumnKind::category}};
  table.columns[1].levels = {"F", "M"};
  for (int k = 0; k < levels; ++k)
    table.columns[2].levels.push_back("job " + std::to_string(k));
  table.columns[3].levels = {"north", "south"};
  for (Index i = 0; i < rows; ++i) {
    table.columns[0].numbers.push_back(rng.normal());
    table.columns[1].codes.push_back(static_cast<std::int32_t>(rng.below(2)));
    table.columns[2].codes.push_back(static_cast<std::int32_t>(rng.below(levels)));
    table.columns[3].codes.push_back(static_cast<std::int32_t>(rng.below(2)));
  }
  return table;
}

std::vector<Attribute> attributes_of(const Table& table) {
  std::vector<Attribute> all;
  for (const char* name : {"sex", "job", "town"})
    all.push_back(read_attribute(table, {.name = name, .columns = {name}}));
  return all;
}

const std::vector<std::string> kInputs = {"age", "sex", "job"};  // town is not read

std::shared_ptr<const EncoderBackbone> encoded(const Table& table) {
  return std::make_shared<const EncoderBackbone>(
      Encoder(table, kInputs, std::span<const Index>(), Unseen::error));
}

TEST(BackboneCheck, EncoderOfFewLevelsIsDense) {
  const Table table = people(5000, 3);
  const auto backbone = encoded(table);
  EXPECT_EQ(backbone->sparsity().entries, 0);
  test::check_backbone(*backbone, table, attributes_of(table));
}

TEST(BackboneCheck, EncoderOfManyLevelsIsSparse) {
  const Table table = people(5000, 20);
  const auto backbone = encoded(table);
  EXPECT_GT(backbone->sparsity().entries, 0);
  test::check_backbone(*backbone, table, attributes_of(table));
}

TEST(BackboneCheck, LowerLayersOfANetwork) {
  const Table table = people(5000, 20);
  Model model;
  model.backbone = encoded(table);
  model.head = make_head({model.backbone->cols(), 7, 5, 1}, Activation::relu);
  model.theta = test::random_vector(model.head->parameters(), 4);
  for (const Index layers : {1, 2})
    test::check_backbone(*cut_layers(model, layers).backbone, table, attributes_of(table));
}

TEST(BackboneCheck, HashesAreOfAllBelowTheHeadAlone) {
  const Table table = people(500, 3), other = people(400, 3);
  Model model;
  model.backbone = encoded(table);
  model.head = make_head({model.backbone->cols(), 7, 5, 1}, Activation::relu);
  model.theta = test::random_vector(model.head->parameters(), 4);
  test::check_hashes(*model.backbone, {encoded(table).get()}, {encoded(other).get()});

  const Model cut = cut_layers(model, 1);
  Vector above = model.theta, below = model.theta;
  above[above.size() - 1] += 1;
  below[0] += 1;
  Model smooth = model;
  smooth.head = make_head({model.backbone->cols(), 7, 5, 1}, Activation::gelu);
  Model elsewhere = model;
  elsewhere.backbone = encoded(other);
  test::check_hashes(
      *cut.backbone, {cut_layers(with_theta(model, above), 1).backbone.get()},
      {cut_layers(with_theta(model, below), 1).backbone.get(),
       cut_layers(smooth, 1).backbone.get(), cut_layers(elsewhere, 1).backbone.get(),
       cut_layers(model, 2).backbone.get(), model.backbone.get()});
}

}  // namespace
}  // namespace fmd
