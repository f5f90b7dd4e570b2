#include "fmd/baselines/smoothing.h"

#include <gtest/gtest.h>

#include "baselines/golden.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::baselines_golden;
using test::golden_matrix;

TEST(Smoothing, AgreesWithInFairness) {
  const json& g = baselines_golden()["smoothing"];
  const Matrix A = golden_matrix(g["A"], 3), Z = golden_matrix(g["Z"], 2);
  for (const json& c : g["cases"]) {
    const Matrix f = smooth(Z, A,
                            {.lambda = c["lambda"],
                             .theta = c["theta"],
                             .tau = c["tau"],
                             .normalised = c["normalised"]});
    EXPECT_CLOSE(f, golden_matrix(c["f"], 2), 1e-10);
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
