#include "model/onnx_backbone.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/model/model.h"
#include "support/close.h"
#include "support/parse_table.h"

namespace fmd {
namespace {

using test::parse;

// A part without operations: the head reads the input itself, and no library is needed.
OnnxPart plain_part(Index columns) {
  return {.source = "net.onnx",
          .bytes = {},
          .output = "x",
          .cols = columns,
          .inputs = {{"x", 1, {-1, columns}}},
          .folder = {},
          .outside = {}};
}

Table small_table() { return parse("a,b,c\n1,2,x\n3,4,y\n5,6,x\n"); }

}  // namespace

TEST(OnnxBackbone, ColumnsBecomeTheNumbersOfTheInput) {
  const OnnxBackbone unbound(plain_part(2));
  const auto backbone = unbound.with_inputs({{.columns = {"b", "a"}}}, {});
  EXPECT_TRUE(backbone->inputs().reads("a"));
  EXPECT_FALSE(backbone->inputs().reads("c"));
  const Table table = small_table();
  const auto X = backbone->features(table, {}, {});
  Scratch scratch;
  const FeatureBlock block = X->block(0, scratch);
  ASSERT_EQ(block.rows, 3);
  EXPECT_EQ(std::vector<float>(block.dense, block.dense + 6),
            (std::vector<float>{2, 1, 4, 3, 6, 5}));
  const std::vector<Index> last = {2};
  const auto one = backbone->features(table, last, {});
  EXPECT_EQ(one->block(0, scratch).dense[0], 6.0F);
}

TEST(OnnxBackbone, TensorsRideOnTheRows) {
  const OnnxBackbone unbound(plain_part(2));
  const auto backbone = unbound.with_inputs({{.tensor = "x.npy"}}, {});
  EXPECT_EQ(backbone->inputs().tensors, std::vector<std::string>{"x"});
  Table table = small_table();
  EXPECT_ERROR(backbone->features(table, {}, {}), ErrorKind::missing_column,
               "tensor \"x\"");
  table.tensors.push_back({"x", {2}, [](std::span<const Index> rows, float* into) {
                             for (const Index row : rows) {
                               *into++ = static_cast<float>(row);
                               *into++ = -1;
                             }
                           }});
  const std::vector<Index> rows = {2, 0};
  const auto X = backbone->features(select(table, rows), {}, {});
  Scratch scratch;
  EXPECT_EQ(X->block(0, scratch).dense[0], 2.0F);
  EXPECT_EQ(X->block(0, scratch).dense[2], 0.0F);
}

TEST(OnnxBackbone, TheHashIsOfPartAndInputs) {
  const OnnxBackbone unbound(plain_part(2));
  const auto ab = unbound.with_inputs({{.columns = {"a", "b"}}}, {});
  const auto ba = unbound.with_inputs({{.columns = {"b", "a"}}}, {});
  EXPECT_EQ(ab->hash(),
            OnnxBackbone(plain_part(2)).with_inputs({{.columns = {"a", "b"}}}, {})->hash());
  EXPECT_NE(ab->hash(), ba->hash());
  OnnxPart other = plain_part(2);
  other.output = "y";
  EXPECT_NE(OnnxBackbone(other).with_inputs({{.columns = {"a", "b"}}}, {})->hash(),
            ab->hash());
}

TEST(OnnxBackbone, AnInputOfOneNumberIsTheColumnOfItsName) {
  OnnxPart part = plain_part(1);
  part.inputs = {{"b", 1, {-1, 1}}};
  const OnnxBackbone backbone(part);
  Scratch scratch;
  EXPECT_EQ(backbone.features(small_table(), {}, {})->block(0, scratch).dense[1], 4.0F);
}

TEST(OnnxBackbone, WhatDoesNotFitIsNamed) {
  const OnnxBackbone backbone(plain_part(2));
  const Table table = small_table();
  EXPECT_ERROR(backbone.features(table, {}, {}), ErrorKind::bad_task,
               "its input \"x\" takes 2 numbers for each row, and nothing says from where");
  EXPECT_ERROR(backbone.with_inputs({{.columns = {"a"}}}, {}), ErrorKind::bad_task,
               "takes 2 numbers for each row, 1 columns are named");
  EXPECT_ERROR(backbone.with_inputs({{.name = "z", .columns = {"a"}}}, {}),
               ErrorKind::bad_task, "the model has no input \"z\"");
  EXPECT_ERROR(backbone.with_inputs({{.image = "c"}}, {}), ErrorKind::bad_task,
               "is not an image");
  EXPECT_ERROR(backbone.with_inputs({{.columns = {"a", "b"}}}, {.images = "/"}),
               ErrorKind::bad_task, "no input is an image");
  const auto texts = backbone.with_inputs({{.columns = {"a", "c"}}}, {});
  EXPECT_ERROR(texts->features(table, {}, {}), ErrorKind::bad_data,
               "column \"c\" holds texts, the model reads numbers");
}

TEST(OnnxBackbone, MissingNumbersMakeNoFeatures) {
  const OnnxBackbone unbound(plain_part(2));
  const auto backbone = unbound.with_inputs({{.columns = {"a", "b"}}}, {});
  EXPECT_ERROR(backbone->features(parse("a,b\n1,\n2,3\n"), {}, {}), ErrorKind::bad_value,
               "not finite");
}

}  // namespace fmd
