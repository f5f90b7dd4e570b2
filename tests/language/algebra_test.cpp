#include "language/algebra.h"

#include <gtest/gtest.h>

namespace fmd::internal {
namespace {

Matrix random_matrix(Index rows, Index cols) {
  std::srand(7);  // Eigen's Random() has no generator of its own
  return Matrix::Random(rows, cols);
}

TEST(LanguageAlgebra, ARowSpaceHoldsItsRowsWhateverTheShape) {
  for (const auto& [rows, cols] : {std::pair{3, 7}, {7, 3}, {5, 5}, {1, 4}, {4, 1}}) {
    const Matrix A = random_matrix(rows, cols);
    const RowSpace space = row_space_of(A);
    const Matrix& D = space.directions;
    ASSERT_EQ(D.rows(), std::min(rows, cols));
    EXPECT_LT((D * D.transpose() - Matrix::Identity(D.rows(), D.rows())).norm(), 1e-13);
    EXPECT_LT((A - A * D.transpose() * D).norm(), 1e-13);
    for (Index k = 0; k < D.rows(); ++k) {
      EXPECT_NEAR((A * D.row(k).transpose()).norm(), space.values[k], 1e-13);
      if (k > 0) {
        EXPECT_LE(space.values[k], space.values[k - 1]);
      }
    }
  }
}

TEST(LanguageAlgebra, EigenvectorsAreTheColumnsAndValuesAscend) {
  const Matrix S = gram(random_matrix(4, 6));
  const SymmetricEigen eigen = symmetric_eigen(S);
  EXPECT_LT((S * eigen.vectors - eigen.vectors * eigen.values.asDiagonal()).norm(), 1e-13);
  for (Index k = 1; k < 6; ++k) EXPECT_GE(eigen.values[k], eigen.values[k - 1]);
}

TEST(LanguageAlgebra, ACholeskyFactorSolvesAndWhitens) {
  const Matrix S = gram(random_matrix(9, 6)) + Matrix::Identity(6, 6);
  const Matrix R = random_matrix(4, 6);
  const CholeskyFactor factor(S);
  ASSERT_TRUE(factor.ok());
  const Matrix solved = factor.solve_rows(R);
  EXPECT_LT((solved * S - R).norm(), 1e-12);
  EXPECT_LT((factor.solve(R.row(2).transpose()) - solved.row(2).transpose()).norm(), 1e-14);
  const Matrix white = factor.whiten_rows(R);
  EXPECT_LT((white * white.transpose() - R * solved.transpose()).norm(), 1e-12);
  EXPECT_FALSE(CholeskyFactor(-S).ok());
  EXPECT_FALSE(CholeskyFactor(Matrix::Constant(2, 2, std::nan(""))).ok());
}

}  // namespace
}  // namespace fmd::internal
