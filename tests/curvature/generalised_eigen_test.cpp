#include "fmd/curvature/generalised_eigen.h"

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/matrices.h"

namespace fmd {
namespace {

using test::positive;
using test::random_matrix;

TEST(GeneralisedEigen, FulfilsItsDefinition) {
  const Matrix A = random_matrix(12, 12, 5) + random_matrix(12, 12, 5).transpose();
  const Matrix B = positive(12, 6);
  const auto e = generalised_eigen(A, B);
  EXPECT_CLOSE(e.vectors.transpose() * B * e.vectors, Matrix::Identity(12, 12), 1e-10);
  EXPECT_CLOSE(A * e.vectors, B * e.vectors * e.values.asDiagonal(), 1e-10);
  for (Index j = 1; j < 12; ++j) EXPECT_LE(e.values[j - 1], e.values[j]);
}

TEST(GeneralisedEigen, OfDiagonalMatricesIsTheRatio) {
  Matrix A = Matrix::Zero(2, 2), B = Matrix::Zero(2, 2);
  A.diagonal() << 6, 1;
  B.diagonal() << 2, 4;
  EXPECT_CLOSE(generalised_eigen(A, B).values, Vector(Eigen::Vector2d(0.25, 3)), 1e-14);
}

TEST(GeneralisedEigen, NeedsAPositiveDefiniteB) {
  const Matrix A = Matrix::Identity(3, 3);
  EXPECT_ERROR(generalised_eigen(A, -A), ErrorKind::numerical, "positive definite");
  EXPECT_ERROR(generalised_eigen(A, Matrix::Identity(2, 2)), ErrorKind::bad_shape, "B");
}

}  // namespace
}  // namespace fmd
