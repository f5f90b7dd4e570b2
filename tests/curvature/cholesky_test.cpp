#include <limits>

#include <gtest/gtest.h>

#include "fmd/curvature/inverse_hessian.h"
#include "support/close.h"
#include "support/matrices.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::positive;
using test::random_matrix;

TEST(Cholesky, SolvesManyRightHandSidesToRounding) {
  const Matrix H = positive(40, 1), b = random_matrix(40, 3, 2);
  const auto inverse = make_cholesky(H);
  const auto result = inverse->apply(b);
  EXPECT_EQ(inverse->damping(), 0);
  EXPECT_LT(result.summary.residual, 1e-12);
  EXPECT_CLOSE(H * result.x, b, 1e-12);
  EXPECT_TRUE(result.summary.converged);
  EXPECT_GT(result.summary.rcond, 1e-12);
  EXPECT_EQ(result.summary.solver, "cholesky");
}

TEST(Cholesky, ZeroOnTheRightHasResidualZero) {
  const auto result = make_cholesky(positive(5, 1))->apply(Matrix::Zero(5, 1));
  EXPECT_EQ(result.summary.residual, 0);
  EXPECT_EQ(result.x, Matrix::Zero(5, 1));
}

TEST(Cholesky, ASingularMatrixGetsTheRulesDampingAndSaysSo) {
  Matrix H = Matrix::Zero(3, 3);
  H.diagonal() << 2, 4, 0;
  const auto inverse = make_cholesky(H);
  EXPECT_CLOSE(inverse->damping(), 2e-4, 1e-14);
  const auto result = inverse->apply(Matrix::Ones(3, 1));
  EXPECT_CLOSE(result.x(0, 0), 1 / 2.0002, 1e-12);
  EXPECT_CLOSE(result.summary.damping, 2e-4, 1e-14);
  EXPECT_LT(result.summary.residual, 1e-12);
}

TEST(Cholesky, NearlySingularCountsAsSingular) {
  Matrix H = Matrix::Identity(2, 2);
  H(1, 1) = 1e-13;
  EXPECT_CLOSE(make_cholesky(H)->damping(), 0.5e-4, 1e-9);
  H(1, 1) = 1e-11;
  EXPECT_EQ(make_cholesky(H)->damping(), 0);
}

TEST(Cholesky, AnIndefiniteMatrixGetsTenTimesMoreUntilAFactorExists) {
  Matrix H = Matrix::Identity(2, 2);
  H(1, 1) = -0.01;  // mean eigenvalue .495: .0495e-3, then x 10 ...
  EXPECT_CLOSE(make_cholesky(H)->damping(), 0.495e-1, 1e-12);
}

TEST(Cholesky, OptionsDecideTheDamping) {
  const Matrix H = 2 * Matrix::Identity(3, 3);
  EXPECT_EQ(make_cholesky(H, {.damping = 0.5})->damping(), 0.5);
  EXPECT_CLOSE(make_cholesky(H, {.external = true})->damping(), 2e-2, 1e-14);
  EXPECT_CLOSE(make_cholesky(H, {.damping = 0.5})->apply(Matrix::Ones(3, 1)).x,
               Matrix::Constant(3, 1, 0.4), 1e-14);
  EXPECT_GT(make_cholesky(Matrix::Zero(2, 2))->damping(), 0);
}

TEST(Cholesky, WrongUseIsNamed) {
  EXPECT_ERROR(make_cholesky(Matrix::Zero(2, 3)), ErrorKind::bad_shape, "2 x 3");
  Matrix H = Matrix::Identity(2, 2);
  EXPECT_ERROR(make_cholesky(H, {.damping = -2}), ErrorKind::bad_option, "damping");
  EXPECT_ERROR(make_cholesky(H)->apply(Matrix::Zero(3, 1)), ErrorKind::bad_shape,
               "needs 2");
  EXPECT_ERROR(make_cholesky(-H, {.damping = 0}), ErrorKind::numerical,
               "positive definite");
  H(0, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(make_cholesky(H), ErrorKind::numerical, "not finite");
}

TEST(SolveSpd, SolvesOrSaysThatItCannot) {
  const Matrix A = positive(6, 3);
  const Vector x = test::random_vector(6, 4);
  Vector b = A * x;
  EXPECT_TRUE(solve_spd(A, b));
  EXPECT_CLOSE(b, x, 1e-9);
  EXPECT_FALSE(solve_spd(-A, b));
}

}  // namespace
}  // namespace fmd
