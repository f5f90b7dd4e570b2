#include "curvature/kronecker.h"

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using internal::KroneckerBasis, internal::KroneckerBlock;

Matrix random_spd(Index size, std::uint64_t seed) {
  Matrix X(size + 5, size);
  for (Index i = 0; i < X.rows(); ++i)
    X.row(i) = test::random_vector(size, seed + static_cast<std::uint64_t>(i)).transpose();
  return X.transpose() * X / static_cast<double>(X.rows());
}

// (B1 (x) A1 + B2 (x) A2 + damping B1 (x) A1) x = v, x as outputs x inputs.
void expect_inverse(Index inputs, Index outputs) {
  const Matrix A1 = random_spd(inputs, 1), A2 = random_spd(inputs, 50),
               B1 = random_spd(outputs, 100), B2 = random_spd(outputs, 150);
  KroneckerBlock block;
  block.start = 2;
  block.inputs = KroneckerBasis(A1, A2);
  block.outputs = KroneckerBasis(B1, B2);
  const Vector v = test::random_vector(2 + inputs * outputs, 9);
  Vector x = v;
  block.solve(x, 1, 0.5, x);
  EXPECT_EQ(x.head(2), v.head(2));
  const Eigen::Map<const Matrix> X(x.data() + 2, outputs, inputs);
  const Matrix image = 1.5 * B1 * X * A1 + B2 * X * A2;
  EXPECT_CLOSE(Vector(Eigen::Map<const Vector>(image.data(), image.size())),
               Vector(v.tail(inputs * outputs)), 1e-6);
}

TEST(Kronecker, InvertsASumOfTwoProducts) { expect_inverse(6, 4); }

TEST(Kronecker, LongSidesUseAnotherProduct) { expect_inverse(610, 3); }

TEST(Kronecker, ColumnsAreDiagonals) {
  const Vector a1 = test::random_vector(7, 1).cwiseAbs2(),
               a2 = test::random_vector(7, 2).cwiseAbs2();
  const Matrix B1 = random_spd(3, 3), B2 = random_spd(3, 40);
  const KroneckerBlock thin{0, {a1, a2}, {B1, B2}};
  const KroneckerBlock full{
      0, {Matrix(a1.asDiagonal()), Matrix(a2.asDiagonal())}, {B1, B2}};
  const Vector v = test::random_vector(21, 5);
  Vector x = v, y = v;
  thin.solve(x, 1, 0, x);
  full.solve(y, 1, 0, y);
  EXPECT_CLOSE(x, y, 1e-9);
}

TEST(Kronecker, DirectionsWithoutCurvatureBecomeZero) {
  const KroneckerBlock block{0,
                             {Matrix::Identity(2, 2), Matrix::Zero(2, 2)},
                             {Matrix::Identity(1, 1), Matrix::Identity(1, 1)}};
  Vector x = Vector::Ones(2);
  block.solve(x, 0, 0, x);
  EXPECT_EQ(x, Vector(Vector::Zero(2)));
}

}  // namespace
}  // namespace fmd
