#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/curvature/hessian.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/path.h"
#include "fmd/unlearn/solve.h"
#include "support/close.h"

// Values made by tools/golden/unlearn.py with PyTorch and scikit-learn.
namespace fmd {
namespace {

Vector vector_of(const nlohmann::json& values) {
  const auto numbers = values.get<std::vector<double>>();
  return Eigen::Map<const Vector>(numbers.data(), static_cast<Index>(numbers.size()));
}

class UnlearnGolden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::ifstream file(std::string(FMD_TEST_DIR) + "/golden/unlearn.json");
    ASSERT_TRUE(file) << "tests/golden/unlearn.json is missing: run tools/make_golden.py";
    j = nlohmann::json::parse(file).at(GetParam());
    const Index n = j["rows"], d = j["inputs"];
    X = make_dense(j["x"].get<std::vector<float>>(), n, d);
    Xbar = make_dense(j["xbar"].get<std::vector<float>>(), n, d);
    y = j["y"].get<std::vector<std::int32_t>>();
    head = LinearHead(d, j["outputs"].get<Index>());
    rows = {.X = X.get(), .y = y, .weight = {}, .subset = {}};
    pairs.resize(1);
    pairs[0].c = rows;
    pairs[0].cbar = {.X = Xbar.get(), .y = y, .weight = {}, .subset = {}};
    pairs[0].weight = j["weight"].get<std::vector<float>>();
    for (Index i = 0; i < n; ++i) pairs[0].unit.push_back(i);
    fitted = vector_of(j["fitted"]);
    theta = vector_of(j["theta"]);
    const auto& terms = j["terms"];
    options = {.anchor = terms["anchor"],
               .fit = terms["fit"],
               .lambda = terms["lambda"],
               .mu = terms["mu"],
               .gaps = {}};
  }

  [[nodiscard]] Matrix square(const char* name) const {
    const Vector values = vector_of(j[name]);
    return Eigen::Map<const Matrix>(values.data(), head.parameters(), head.parameters());
  }

  nlohmann::json j;
  std::unique_ptr<Features> X, Xbar;
  std::vector<std::int32_t> y;
  LinearHead head{0, 1};
  Rows rows;
  std::vector<PairSet> pairs;
  Vector fitted, theta;
  SolveOptions options;
};

TEST_P(UnlearnGolden, TrainingObjectiveAndHessian) {
  const auto F = objective(head, rows, theta, j["l2"], 0, {});
  EXPECT_CLOSE(F.value, j["F"].get<double>(), 1e-13);
  EXPECT_CLOSE(F.gradient, vector_of(j["F_gradient"]), 1e-12);
  const Matrix H = hessian(head, rows, fitted, {.l2 = j["l2"], .gauge = false}, {});
  EXPECT_CLOSE(H, square("hessian"), 1e-12);
}

TEST_P(UnlearnGolden, ConsistencyMatrixAndPath) {
  const Matrix G = consistency_matrix(head, pairs, fitted, {});
  EXPECT_CLOSE(G, square("G"), 1e-12);
  const Path path = make_path(hessian(head, rows, fitted, {.l2 = j["l2"]}, {}), G, fitted);
  for (std::size_t k = 0; k < j["lambdas"].size(); ++k)
    EXPECT_CLOSE(path.theta(j["lambdas"][k]), vector_of(j["path"][k]), 1e-9);
}

TEST_P(UnlearnGolden, ObjectiveAndMinimumOfSolve) {
  const auto J = solve_objective(head, fitted, rows, pairs, options, theta, {});
  EXPECT_CLOSE(J.value, j["J"].get<double>(), 1e-13);
  EXPECT_CLOSE(J.gradient, vector_of(j["J_gradient"]), 1e-12);
  const auto result = solve(head, fitted, rows, pairs, options, {});
  EXPECT_EQ(result.summary.status, SolveStatus::converged);
  EXPECT_CLOSE(result.summary.objective, j["minimum_value"].get<double>(), 1e-13);
  EXPECT_CLOSE(result.theta, vector_of(j["minimum"]), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(, UnlearnGolden, testing::Values("sigmoid", "softmax"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fmd
