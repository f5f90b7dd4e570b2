#include <cmath>

#include <gtest/gtest.h>

#include "baselines/box_lp.h"
#include "baselines/golden.h"
#include "fmd/baselines/dfr.h"
#include "fmd/baselines/reweigh.h"
#include "fmd/baselines/smoothing.h"
#include "fmd/core/rng.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::baselines_golden;

Matrix matrix(const json& values, Index cols) {
  const auto v = values.get<std::vector<double>>();
  return Eigen::Map<const Matrix>(v.data(), std::ssize(v) / cols, cols);
}
Vector vector(const json& values) {
  const auto v = values.get<std::vector<double>>();
  return Eigen::Map<const Vector>(v.data(), std::ssize(v));
}
std::unique_ptr<Features> features(const json& values, Index cols) {
  const auto v = values.get<std::vector<double>>();
  return make_dense({v.begin(), v.end()}, std::ssize(v) / cols, cols);
}

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

TEST(BoxProgram, AgreesWithHighs) {
  int feasible = 0;
  for (const json& c : baselines_golden()["box_programs"]) {
    const BoxProgram program{vector(c["c"]), vector(c["a0"]), vector(c["a1"]), c["b"][0],
                             c["b"][1]};
    const BoxSolution found = solve_box(program);
    ASSERT_EQ(found.feasible, c["feasible"].get<bool>()) << c;
    if (!found.feasible) continue;
    ++feasible;
    EXPECT_NEAR(found.objective, c["objective"].get<double>(), 1e-8) << c;
    EXPECT_NEAR(found.dual, found.objective, 1e-8);
    EXPECT_GE(found.x.minCoeff(), 0);
    EXPECT_LE(found.x.maxCoeff(), 1);
    EXPECT_LE(program.a0.dot(found.x), program.b0 + 1e-8);
    EXPECT_LE(program.a1.dot(found.x), program.b1 + 1e-8);
  }
  EXPECT_GE(feasible, 15);
}

// Equal ratios and rows that say the same: no cycle, and the dual proves the optimum.
TEST(BoxProgram, ManyTiesComeToAnEnd) {
  const Index n = 2000;
  Vector a(n);
  for (Index i = 0; i < n; ++i) a[i] = static_cast<double>(i % 5) - 2;
  const BoxSolution found = solve_box({Vector::Ones(n), a, a, -300, -310});
  ASSERT_TRUE(found.feasible);
  EXPECT_NEAR(found.objective, 155, 1e-9);  // 155 rows of -2
  EXPECT_NEAR(found.dual, 155, 1e-9);
}

TEST(InfluenceWeights, AgreeWithNumpyAndHighs) {
  const json& g = baselines_golden()["influence_weights"];
  const Index d = g["features"];
  const auto X = features(g["X"], d), V = features(g["V"], d);
  const auto y = g["y"].get<std::vector<std::int32_t>>();
  const auto v = g["v"].get<std::vector<std::int32_t>>();
  const auto group = g["group"].get<std::vector<std::int32_t>>();
  const Rows train{X.get(), y, {}, {}}, validation{V.get(), v, {}, {}};
  for (const json& c : g["cases"]) {
    const InfluenceWeights found =
        influence_weights(LinearHead(d, 1), vector(g["theta"]), train, validation, group,
                          {.fairness = c["fairness"],
                           .alpha = c["alpha"],
                           .beta = c["beta"],
                           .gamma = c["gamma"],
                           .l2 = g["l2"]},
                          {});
    EXPECT_CLOSE(found.fairness_loss, c["F"].get<double>(), 1e-6);
    EXPECT_CLOSE(found.fairness, vector(c["f"]), 1e-5);
    EXPECT_CLOSE(found.utility, vector(c["u"]), 1e-5);
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

TEST(SparseLogistic, AgreesWithScikitLearn) {
  const json& g = baselines_golden()["sparse_logistic"];
  const Matrix X = matrix(g["X"], g["features"]);
  const auto y = g["y"].get<std::vector<std::int32_t>>();
  SparseLogistic warm;
  for (const json& c : g["cases"]) {
    const double penalty = 1 / (c["C"].get<double>() * static_cast<double>(X.rows()));
    const SparseLogistic found = fit_sparse_logistic(X, y, penalty);
    EXPECT_LE(found.violation, 1e-8);
    EXPECT_CLOSE(found.w, vector(c["w"]), 1e-5);
    EXPECT_NEAR(found.b, c["b"].get<double>(), 1e-5);
    warm = fit_sparse_logistic(X, y, penalty, warm);
    EXPECT_CLOSE(warm.w, found.w, 1e-6);
  }
  const SparseLogistic none = fit_sparse_logistic(X, y, 10);
  EXPECT_EQ(none.w, Vector::Zero(X.cols()));  // a large penalty leaves the intercept alone
  EXPECT_ERROR(fit_sparse_logistic(X, y, -1), ErrorKind::bad_option, "penalty");
}

// The group decides the label in nearly all rows: balanced, it tells nothing, and what is
// left is the feature that does.
TEST(Dfr, LosesASpuriousFeature) {
  Rng rng(1, "dfr");
  std::vector<float> values;
  std::vector<std::int32_t> y, group;
  for (int i = 0; i < 3000; ++i) {
    y.push_back(static_cast<std::int32_t>(rng.below(2)));
    group.push_back(rng.uniform() < 0.95 ? y.back() : 1 - y.back());
    values.push_back(static_cast<float>(1.5 * (y.back() - 0.5) + rng.normal()));
    values.push_back(static_cast<float>(group.back()));
  }
  const auto X = make_dense(values, 3000, 2);
  const Rows rows{X.get(), y, {}, {}};
  const Vector theta = fit_dfr(LinearHead(2, 1), rows, group, {.C = 0.1, .draws = 10}, {});
  EXPECT_GT(theta[0], 1);
  EXPECT_LT(std::abs(theta[1]), 0.25);
  const std::vector<double> C = {1, 0.1};
  const auto path = fit_dfr(LinearHead(2, 1), rows, group, C, 10, {});
  EXPECT_CLOSE(path[1], theta, 1e-4);
  ThreadPool pool(2);
  EXPECT_EQ(fit_dfr(LinearHead(2, 1), rows, group, C, 10, {.pool = &pool})[1], path[1]);
  const std::vector<std::int32_t> ones(3000, 1);
  EXPECT_ERROR(fit_dfr(LinearHead(2, 1), Rows{X.get(), ones, {}, {}}, group, {}, {}),
               ErrorKind::bad_data, "no row has label 0");
}

// A third group of three rows would leave three rows of each cell: it is left out.
TEST(Dfr, CellsOfAFewRowsDoNotStarveTheOthers) {
  Rng rng(5, "dfr");
  std::vector<float> values;
  std::vector<std::int32_t> y, group;
  for (int i = 0; i < 400; ++i) {
    y.push_back(i % 2);
    group.push_back(static_cast<std::int32_t>(rng.below(2)));
    values.push_back(static_cast<float>(y.back() + rng.normal()));
  }
  const auto X = make_dense(values, 400, 1);
  const Rows rows{X.get(), y, {}, {}};
  const Vector two = fit_dfr(LinearHead(1, 1), rows, group, {}, {});
  for (const std::size_t i : {0, 1, 2}) {
    group[i] = 2;
    y[i] = 1;
  }
  const Vector three = fit_dfr(LinearHead(1, 1), rows, group, {}, {});
  EXPECT_NEAR(three[0], two[0], 0.4);
  EXPECT_GT(three[0], 0.5);
}

TEST(Smoothing, AgreesWithInFairness) {
  const json& g = baselines_golden()["smoothing"];
  const Matrix A = matrix(g["A"], 3), Z = matrix(g["Z"], 2);
  for (const json& c : g["cases"]) {
    const Matrix f = smooth(Z, A,
                            {.lambda = c["lambda"],
                             .theta = c["theta"],
                             .tau = c["tau"],
                             .normalised = c["normalised"]});
    EXPECT_CLOSE(f, matrix(c["f"], 2), 1e-10);
  }
  EXPECT_CLOSE(smooth(Z, A, {.lambda = 0}), Z, 1e-14);
  EXPECT_ERROR(smooth(Z, A, {.lambda = -1}), ErrorKind::bad_option, "lambda");
}

// Two equal rows and one far away: (1 + lambda) f1 - lambda f2 = z1, so that for a large
// lambda both have the mean.
TEST(Smoothing, DrawsLikeRowsTogether) {
  Matrix A(3, 1), Z(3, 1);
  A << 0, 0, 5;
  Z << 1, -3, 2;
  const Matrix f = smooth(Z, A, {.lambda = 1e6, .theta = 1, .tau = 1});
  EXPECT_NEAR(f(0, 0), -1, 1e-5);
  EXPECT_NEAR(f(1, 0), -1, 1e-5);
  EXPECT_EQ(f(2, 0), 2);
}

TEST(FairMetric, DoesNotSeeTheAttributeNorItsDirection) {
  const auto X = make_dense({1, 2, 3, 0, 2, 3, 0, 5, 1, 1, 8, 3}, 4, 3);
  const std::vector<Index> rows = {0, 1, 2, 3}, drop = {0};
  const Matrix all = FairMetric(3, drop, Matrix(2, 0)).coordinates(*X, rows);
  EXPECT_EQ((all.row(0) - all.row(1)).norm(), 0);  // they differ in column 0 alone
  Matrix direction(2, 1);
  direction << 3, 0;
  const Matrix less = FairMetric(3, drop, direction).coordinates(*X, rows);
  EXPECT_NEAR((less.row(0) - less.row(3)).norm(), 0, 1e-12);  // now also rows 0 and 3
  EXPECT_NEAR((less.row(0) - less.row(2)).norm(), 2, 1e-12);
  EXPECT_NEAR(distance_quantile(less, 0), 0, 1e-12);
  EXPECT_NEAR(distance_quantile(less, 1), 4, 1e-12);
}

}  // namespace
}  // namespace fmd
