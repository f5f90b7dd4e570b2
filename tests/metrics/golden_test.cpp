// Agreement with scikit-learn, fairlearn, statsmodels and PyTorch: tools/golden/metrics.py.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/metrics/bias_measure.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "metrics/examples.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;

class MetricsGolden : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::ifstream file(FMD_TEST_DIR "/golden/metrics.json");
    ASSERT_TRUE(file) << "tests/golden/metrics.json is not there";
    golden() = json::parse(file);
  }
  static json& golden() {
    static json data;
    return data;
  }
};

std::vector<float> floats(const json& values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

TEST_F(MetricsGolden, Intervals) {
  const json& all = golden()["intervals"];
  for (const json& row : all["wilson"]) {
    const Interval i = wilson(row[0], row[1], row[2]);
    EXPECT_NEAR(i.low, row[3].get<double>(), 1e-12) << row;
    EXPECT_NEAR(i.high, row[4].get<double>(), 1e-12) << row;
  }
  for (const json& row : all["newcombe"]) {
    const Interval i = newcombe(row[0], row[1], row[2], row[3], row[4]);
    EXPECT_NEAR(i.low, row[5].get<double>(), 1e-12) << row;
    EXPECT_NEAR(i.high, row[6].get<double>(), 1e-12) << row;
  }
  for (const json& row : all["ratio"]) {
    const Interval i = rate_ratio(row[0], row[1], row[2], row[3], 0.95);
    EXPECT_CLOSE(i.low, row[4].get<double>(), 0.005) << row;
    EXPECT_CLOSE(i.high, row[5].get<double>(), 0.005) << row;
  }
  for (const json& row : all["normal"])
    EXPECT_CLOSE(normal_quantile(row[0]), row[1].get<double>(), 1e-8) << row;
  const auto values = all["percentile"]["values"].get<std::vector<double>>();
  for (const json& row : all["percentile"]["ends"]) {
    const Interval i = percentile(0, values, row[0]);
    EXPECT_CLOSE(i.low, row[1].get<double>(), 1e-10) << row;
    EXPECT_CLOSE(i.high, row[2].get<double>(), 1e-10) << row;
  }
}

TEST_F(MetricsGolden, ScoresOfTwoClasses) {
  const json& g = golden()["scored"]["two"];
  const auto p1 = g["p"].get<std::vector<double>>();
  const auto y = g["y"].get<std::vector<std::int32_t>>();
  const Scored s{.p = two_classes(p1),
                 .y = y,
                 .decision = decide(two_classes(p1), 0.5),
                 .favorable = 1};
  EXPECT_CLOSE(accuracy(s, 0.95).value, g["accuracy"].get<double>(), 1e-12);
  EXPECT_CLOSE(log_loss(s), g["log_loss"].get<double>(), 1e-12);
  EXPECT_CLOSE(auc(p1, {y.begin(), y.end()}), g["auc"].get<double>(), 1e-12);
}

TEST_F(MetricsGolden, ScoresOfThreeClasses) {
  const json& g = golden()["scored"]["three"];
  Scored s{.p = Matrix(static_cast<Index>(g["p"].size()), 3), .y = g["y"], .decision = {}};
  for (Index i = 0; i < s.p.rows(); ++i)
    for (Index k = 0; k < 3; ++k)
      s.p(i, k) = g["p"][static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
  s.decision = decide(s.p, 0.5);
  EXPECT_CLOSE(accuracy(s, 0.95).value, g["accuracy"].get<double>(), 1e-12);
  EXPECT_CLOSE(log_loss(s), g["log_loss"].get<double>(), 1e-12);
}

TEST_F(MetricsGolden, Groups) {
  const json& g = golden()["groups"];
  const auto p1 = g["p"].get<std::vector<double>>();
  const Scored s{.p = two_classes(p1),
                 .y = g["y"],
                 .decision = decide(two_classes(p1), 0.5),
                 .favorable = 1};
  const auto report =
      group_report(s, "group", {"a", "b", "c"}, g["group"], {.replicates = 50}, {});
  const json& rates = g["by_group"];
  for (std::size_t k = 0; k < 3; ++k) {
    const Group& group = report.groups[k];
    EXPECT_CLOSE(group.selection_rate.value, rates["selection_rate"][k].get<double>(),
                 1e-12);
    EXPECT_CLOSE(group.tpr.value, rates["tpr"][k].get<double>(), 1e-12);
    EXPECT_CLOSE(group.fpr.value, rates["fpr"][k].get<double>(), 1e-12);
    EXPECT_CLOSE(group.accuracy.value, rates["accuracy"][k].get<double>(), 1e-12);
  }
  for (const char* name :
       {"demographic_parity", "equal_opportunity", "equalized_odds", "accuracy_difference"})
    EXPECT_CLOSE(report.find(name)->widest.difference.value, g[name].get<double>(), 1e-12)
        << name;
  EXPECT_CLOSE(report.selection_ratio.value, g["demographic_parity_ratio"].get<double>(),
               1e-12);
}

TEST_F(MetricsGolden, GradientsByAutomaticDifferentiation) {
  for (const json& g : golden()["gradients"]) {
    const Index rows = static_cast<Index>(g["y"].size()), cols = 4;
    const auto X = make_dense(floats(g["X"]), rows, cols);
    const auto Xbar = make_dense(floats(g["Xbar"]), rows, cols);
    const auto y = g["y"].get<std::vector<std::int32_t>>();
    const auto group = g["group"].get<std::vector<std::int32_t>>();
    const auto theta = g["theta"].get<std::vector<double>>();
    PairSet pairs;
    pairs.c = {.X = X.get(), .y = y, .weight = {}, .subset = {}};
    pairs.cbar = {.X = Xbar.get(), .y = y, .weight = {}, .subset = {}};
    pairs.weight = floats(g["weight"]);
    const MeasureData data{
        .pairs = &pairs,
        .rows = {.X = X.get(), .y = y, .weight = pairs.weight, .subset = {}},
        .group = group};
    const LinearHead head(cols, g["outputs"]);
    const MeasureOptions options{
        .favorable = g["favorable"], .groups = g["groups"], .sharpen = g["sharpen"]};
    for (const auto& [name, expected] : g["measures"].items()) {
      const MeasureValue value =
          evaluate(*make_measure(name, options), data, head,
                   Eigen::Map<const Vector>(theta.data(), head.parameters()), true, {});
      EXPECT_CLOSE(value.value, expected["value"].get<double>(), 1e-10) << name;
      EXPECT_CLOSE(value.gradient, expected["gradient"].get<std::vector<double>>(), 1e-9)
          << name << ", outputs " << g["outputs"];
    }
  }
}

}  // namespace
}  // namespace fmd
