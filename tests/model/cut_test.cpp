#include "fmd/model/cut.h"

#include <gtest/gtest.h>

#include "fmd/data/csv.h"
#include "fmd/model/encoder_backbone.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

constexpr const char* kTable =
    "sex,age,job,income\n"
    "Male,30,clerk,low\n"
    "Female,40,smith,high\n"
    "Male,51,cook,low\n"
    "Female,20,clerk,high\n";

struct Whole {
  Table table = parse_csv(kTable, "small.csv");
  Model model;

  Whole() {
    model.task.label = "income";
    model.task.classes = {"low", "high"};
    model.task.attributes = {{.name = "sex", .columns = {"sex"}}};
    const std::vector<std::string> inputs = {"sex", "age", "job"};
    model.backbone = std::make_shared<const EncoderBackbone>(
        Encoder(table, inputs, std::span<const Index>(), Unseen::error));
    model.head = make_head({model.backbone->cols(), 6, 5, 1}, Activation::tanh);
    model.theta = test::random_vector(model.head->parameters(), 3);
  }
  [[nodiscard]] Matrix logits(const Model& of) const {
    const auto X = of.backbone->features(table, {}, {});
    return all_logits(*of.head, {X.get(), {}, {}, {}}, of.theta, {});
  }
};

TEST(Split, GivesTheSameAnswersAtEveryLayer) {
  const Whole whole;
  const Matrix z = whole.logits(whole.model);
  for (const Index layers : {1, 2, 3}) {
    const Model top = cut_layers(whole.model, layers);
    EXPECT_EQ(top.head->linear(), layers == 1);
    EXPECT_EQ(top.head->widths().size(), static_cast<std::size_t>(layers) + 1);
    EXPECT_EQ(top.head->inputs(), top.backbone->cols());
    EXPECT_CLOSE(whole.logits(top), z, 1e-6);  // features are float32
  }
  EXPECT_EQ(whole.logits(cut_layers(whole.model, 3)), z);
  EXPECT_NO_THROW((void)linear_head(cut_layers(whole.model, 1)));
  EXPECT_ERROR((void)linear_head(whole.model), ErrorKind::unsupported, "--layers 1");
}

TEST(Split, FlipsBelowTheLayers) {
  const Whole whole;
  const Attribute sex = read_attribute(whole.table, whole.model.task.attributes[0]);
  const PairPlan plan = flip_plan(sex);
  const auto flipped_logits = [&](const Model& of) {
    const auto X = of.backbone->features(whole.table, {}, {});
    const auto Xbar = of.backbone->flipped(nullptr, *X, sex, plan, {});
    return all_logits(*of.head, {Xbar.get(), {}, {}, {}}, of.theta, {});
  };
  EXPECT_TRUE(cut_layers(whole.model, 1).backbone->inputs().reads(sex));
  const Matrix expected = flipped_logits(whole.model);
  EXPECT_GT((expected - whole.logits(whole.model)).norm(), 1e-2);
  for (const Index layers : {1, 2})
    EXPECT_CLOSE(flipped_logits(cut_layers(whole.model, layers)), expected, 1e-6);
  const auto raw = whole.model.backbone->features(whole.table, {}, {});
  EXPECT_ERROR(
      (void)cut_layers(whole.model, 1).backbone->flipped(nullptr, *raw, sex, plan, {}),
      ErrorKind::bad_shape, "were not made by this backbone");
}

TEST(Split, TakesRowsThatAreAlreadyEncoded) {
  const Whole whole;
  const Model top = cut_layers(whole.model, 2);
  const auto X =
      top.backbone->of_kept(whole.model.backbone->features(whole.table, {}, {}), {});
  EXPECT_EQ(all_logits(*top.head, {X.get(), {}, {}, {}}, top.theta, {}), whole.logits(top));
}

TEST(Split, PutsNewParametersOnTop) {
  const Whole whole;
  Model top = cut_layers(whole.model, 1);
  top.theta *= 2;
  const Model changed = with_top(whole.model, top.theta);
  EXPECT_CLOSE(whole.logits(changed), whole.logits(top), 1e-6);
  EXPECT_EQ(changed.theta.head(whole.model.theta.size() - 6),
            whole.model.theta.head(whole.model.theta.size() - 6));
  EXPECT_ERROR((void)with_top(whole.model, Vector::Zero(1000)), ErrorKind::bad_shape,
               "theta");
}

TEST(Split, MoreLayersThanThereAreIsAnError) {
  const Whole whole;
  for (const Index layers : {0, 4})
    EXPECT_ERROR((void)cut_layers(whole.model, layers), ErrorKind::bad_option,
                 "the model has 3");
  EXPECT_ERROR((void)cut_layers(whole.model, 7), ErrorKind::bad_option,
               "write a number from 1 to 3");
}

}  // namespace
}  // namespace fmd
