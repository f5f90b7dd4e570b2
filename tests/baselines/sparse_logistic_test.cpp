#include "fmd/baselines/sparse_logistic.h"

#include <cmath>

#include <gtest/gtest.h>

#include "baselines/golden.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::baselines_golden;
using test::golden_matrix;
using test::golden_vector;

TEST(SparseLogistic, AgreesWithScikitLearn) {
  const json& g = baselines_golden()["sparse_logistic"];
  const Matrix X = golden_matrix(g["X"], g["features"]);
  const auto y = g["y"].get<std::vector<std::int32_t>>();
  SparseLogistic warm;
  for (const json& c : g["cases"]) {
    const double penalty = 1 / (c["C"].get<double>() * static_cast<double>(X.rows()));
    const SparseLogistic found = fit_sparse_logistic(X, y, penalty);
    EXPECT_LE(found.violation, 1e-8);
    EXPECT_CLOSE(found.w, golden_vector(c["w"]), 1e-5);
    EXPECT_NEAR(found.b, c["b"].get<double>(), 1e-5);
    warm = fit_sparse_logistic(X, y, penalty, warm);
    EXPECT_CLOSE(warm.w, found.w, 1e-6);
  }
  const SparseLogistic none = fit_sparse_logistic(X, y, 10);
  EXPECT_EQ(none.w, Vector::Zero(X.cols()));  // a large penalty leaves the intercept alone
  EXPECT_ERROR(fit_sparse_logistic(X, y, -1), ErrorKind::bad_option, "penalty");
}

// More features than rows: the optimum is found from either side of the path.
TEST(SparseLogistic, WideProblemsMeetTheirConditions) {
  const Index n = 60, d = 150;
  Rng rng(3, "wide");
  Matrix X(n, d);
  for (double& x : X.reshaped()) x = rng.normal();
  X.col(7) = X.col(3);  // equal columns
  std::vector<std::int32_t> y;
  for (Index i = 0; i < n; ++i) y.push_back(X(i, 0) - X(i, 1) + rng.normal() > 0 ? 1 : 0);
  std::vector<Vector> up;
  SparseLogistic found;
  for (const double C : {0.01, 0.1, 0.5, 1.0}) {
    found = fit_sparse_logistic(X, y, 1 / (C * static_cast<double>(n)), found, 1e-8);
    EXPECT_LE(found.violation, 1e-8) << C;
    up.push_back(X * found.w);
  }
  EXPECT_GT(up[3].norm(), up[1].norm());
  found = {};
  for (const double C : {1.0, 0.5, 0.1, 0.01}) {
    found = fit_sparse_logistic(X, y, 1 / (C * static_cast<double>(n)), found, 1e-8);
    EXPECT_LE(found.violation, 1e-8) << C;
    EXPECT_NEAR((Vector(X * found.w) - up.back()).cwiseAbs().maxCoeff(), 0, 1e-4) << C;
    up.pop_back();
  }
}

// Columns that are constant in most rows take a way of their own. The conditions of the
// optimum are computed here from X itself, and dense columns give the same.
TEST(SparseLogistic, OneHotColumnsMeetTheirConditions) {
  const Index n = 400, groups = 3, categories = 12, d = groups * categories;
  Rng rng(5, "one-hot");
  Matrix X = Matrix::Zero(n, d);
  std::vector<std::int32_t> y;
  for (Index i = 0; i < n; ++i) {
    double z = 0;
    for (Index g = 0; g < groups; ++g) {
      const Index c = static_cast<Index>(rng.below(categories));
      X(i, g * categories + c) = 1;
      z += c < 4 ? 0.8 : -0.4;
    }
    y.push_back(z + rng.normal() > 0 ? 1 : 0);
  }
  for (Index j = 0; j < d; ++j) {
    X.col(j).array() -= X.col(j).mean();
    X.col(j) /= X.col(j).norm() / std::sqrt(static_cast<double>(n));
  }
  Matrix wider(n, d + 2 * d);  // so many dense columns that all are taken as dense
  wider << X, Matrix::Zero(n, 2 * d);
  for (Index i = 0; i < n; ++i)
    for (Index j = d; j < wider.cols(); ++j) wider(i, j) = 1e-9 * rng.normal();
  for (const double penalty : {0.1, 0.02, 0.004}) {
    const SparseLogistic found = fit_sparse_logistic(X, y, penalty, {}, 1e-9);
    Vector miss = X * found.w;
    for (Index i = 0; i < n; ++i)
      miss[i] = 1 / (1 + std::exp(-miss[i] - found.b)) - y[static_cast<std::size_t>(i)];
    const Vector g = X.transpose() * miss / static_cast<double>(n);
    EXPECT_NEAR(miss.mean(), 0, 1e-8);
    for (Index j = 0; j < d; ++j) {
      const double w = found.w[j];
      if (w == 0)
        EXPECT_LE(std::abs(g[j]), penalty + 1e-8);
      else
        EXPECT_NEAR(g[j], w > 0 ? -penalty : penalty, 1e-8);
    }
    const SparseLogistic dense = fit_sparse_logistic(wider, y, penalty, {}, 1e-9);
    EXPECT_NEAR(found.w.lpNorm<1>(), dense.w.lpNorm<1>(), 1e-4);
    EXPECT_NEAR((X * found.w - wider * dense.w).cwiseAbs().maxCoeff(), 0, 1e-4);
  }
}

// All columns of a category occur, and they sum to a constant: the curvature of such a
// support is singular. A small penalty keeps all of them.
TEST(SparseLogistic, CompleteCategoriesReachTheOptimumInFewSteps) {
  const Index n = 600, categories = 6;
  Rng rng(6, "complete");
  Matrix X = Matrix::Zero(n, 2 * categories);
  std::vector<std::int32_t> y;
  for (Index i = 0; i < n; ++i) {
    const auto a = static_cast<Index>(rng.below(categories)),
               b = static_cast<Index>(rng.below(categories));
    X(i, a) = X(i, categories + b) = 1;
    y.push_back(0.5 * static_cast<double>(a) - 0.4 * static_cast<double>(b) + rng.normal() >
                        0.2
                    ? 1
                    : 0);
  }
  for (Index j = 0; j < X.cols(); ++j) {
    X.col(j).array() -= X.col(j).mean();
    X.col(j) /= X.col(j).norm() / std::sqrt(static_cast<double>(n));
  }
  for (const double penalty : {1e-3, 1e-5}) {
    const SparseLogistic found = fit_sparse_logistic(X, y, penalty, {}, 1e-9);
    EXPECT_LE(found.violation, 1e-9) << penalty;
    EXPECT_LE(found.steps, 20) << penalty;
    // The columns of a category leave one direction free: along it a weight becomes 0.
    for (const Index first : {Index{0}, categories})
      EXPECT_TRUE((found.w.segment(first, categories).array() == 0).any()) << penalty;
  }
}

}  // namespace
}  // namespace fmd
