#include "fmd/baselines/reweigh.h"

#include <gtest/gtest.h>

#include "baselines/golden.h"
#include "fmd/core/rng.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::baselines_golden;
using test::golden_features;
using test::golden_vector;

TEST(Reweighing, AgreesWithAif360) {
  for (const auto& c : baselines_golden()["postprocessing"]) {
    const auto y = c["y"].get<std::vector<std::int32_t>>();
    const auto group = c["group"].get<std::vector<std::int32_t>>();
    const std::vector<float> weight = reweighing_weights(y, group);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_CLOSE(static_cast<double>(weight[i]),
                   c["reweighing"][static_cast<std::size_t>(group[i])]
                    [static_cast<std::size_t>(y[i])]
                        .get<double>(),
                   1e-7);
  }
}

TEST(Reweighing, MakesLabelAndGroupIndependentForManyOfThem) {
  Rng rng(3, "rows");
  std::vector<std::int32_t> y, group;
  for (int i = 0; i < 500; ++i) {
    group.push_back(static_cast<std::int32_t>(rng.below(4)) - 1);
    y.push_back(static_cast<std::int32_t>(rng.below(3)));
    if (group.back() == 1 && rng.uniform() < 0.5) y.back() = 2;
  }
  const std::vector<float> weight = reweighing_weights(y, group);
  double total = 0, cell[3][3] = {};
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (group[i] < 0) {
      EXPECT_EQ(weight[i], 1);
      continue;
    }
    cell[group[i]][y[i]] += static_cast<double>(weight[i]);
    total += static_cast<double>(weight[i]);
  }
  for (int g = 0; g < 3; ++g)
    for (int k = 0; k < 3; ++k) {
      const double of_group = cell[g][0] + cell[g][1] + cell[g][2];
      const double of_label = cell[0][k] + cell[1][k] + cell[2][k];
      EXPECT_NEAR(cell[g][k] / total, of_group / total * of_label / total, 1e-6);
    }
  const std::vector<std::int32_t> none = {-1, -1};
  EXPECT_ERROR(reweighing_weights(none, none), ErrorKind::bad_data, "no row");
}

TEST(InfluenceWeights, AgreeWithNumpyAndHighs) {
  const json& g = baselines_golden()["influence_weights"];
  const Index d = g["features"];
  const auto X = golden_features(g["X"], d), V = golden_features(g["V"], d);
  const auto y = g["y"].get<std::vector<std::int32_t>>();
  const auto v = g["v"].get<std::vector<std::int32_t>>();
  const auto group = g["group"].get<std::vector<std::int32_t>>();
  const Rows train{X.get(), y, {}, {}}, validation{V.get(), v, {}, {}};
  for (const json& c : g["cases"]) {
    const InfluenceWeights found = influence_weights(
        LinearHead(d, 1), golden_vector(g["theta"]), train, validation, group,
        {.fairness = c["fairness"],
         .alpha = c["alpha"],
         .beta = c["beta"],
         .gamma = c["gamma"],
         .l2 = g["l2"]},
        {});
    EXPECT_CLOSE(found.fairness_loss, c["F"].get<double>(), 1e-6);
    EXPECT_CLOSE(found.fairness, golden_vector(c["f"]), 1e-5);
    EXPECT_CLOSE(found.utility, golden_vector(c["u"]), 1e-5);
    EXPECT_EQ(found.undone, c["undone"].get<bool>());
    Vector x(std::ssize(found.weight));
    for (Index i = 0; i < x.size(); ++i)
      x[i] = 1 - static_cast<double>(found.weight[static_cast<std::size_t>(i)]);
    const double objective = found.undone ? x.sum() : found.fairness.dot(x);
    EXPECT_CLOSE(objective, c["objective"].get<double>(), 1e-5);
  }
}

TEST(InfluenceWeights, RefuseWhatMakesNoSense) {
  const test::Problem p = test::random_problem({.rows = 30, .cols = 2});
  const std::vector<std::int32_t> group(30, 1);
  const Vector theta = Vector::Zero(3);
  const LinearHead head(2, 1);
  EXPECT_ERROR(influence_weights(head, theta, p.rows(), p.rows(), group, {}, {}),
               ErrorKind::bad_data, "group 0");
  EXPECT_ERROR(
      influence_weights(head, theta, p.rows(), p.rows(), group, {.fairness = "x"}, {}),
      ErrorKind::bad_option, "equal_opportunity, demographic_parity");
  EXPECT_ERROR(influence_weights(head, theta, p.rows(), p.rows(), group, {.beta = 2}, {}),
               ErrorKind::bad_option, "beta");
}

}  // namespace
}  // namespace fmd
