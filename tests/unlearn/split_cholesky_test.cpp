#include "unlearn/split_cholesky.h"

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

using internal::SplitCholesky;

// Positive definite, with a diagonal block from `first` on.
Matrix with_block(Index size, Index first, Index count) {
  Rng rng(7, "split cholesky");
  Matrix half(size, size + 3);
  for (double& x : half.reshaped()) x = rng.normal();
  Matrix A = half * half.transpose();
  Matrix block = A.block(first, first, count, count).diagonal().asDiagonal();
  A.block(first, first, count, count) = block;
  A.diagonal().array() +=
      40 * static_cast<double>(size);  // heavier than all that is beside
  return A;
}

TEST(SplitCholesky, SolvesWhereverTheDiagonalBlockIs) {
  struct Case {
    Index size, first, count;
  };
  for (const auto& [size, first, count] :
       {Case{9, 0, 0}, Case{9, 3, 1}, Case{20, 0, 12}, Case{20, 5, 9}, Case{20, 11, 9},
        Case{12, 0, 12}, Case{1, 0, 1}}) {
    const Matrix A = with_block(size, first, count);
    Vector b(size);
    for (Index i = 0; i < size; ++i) b[i] = static_cast<double>(i % 5) - 1.5;
    const Vector expected = A.ldlt().solve(b);
    Matrix own = A;
    SplitCholesky factor;
    ASSERT_TRUE(factor.factor(own));
    factor.solve(b);
    EXPECT_CLOSE(b, expected, 1e-12);
  }
}

TEST(SplitCholesky, RefusesWhatIsNotPositiveDefinite) {
  for (const Index place : {0, 7, 19}) {
    Matrix A = with_block(20, 5, 9);
    A(place, place) = -1;
    SplitCholesky factor;
    EXPECT_FALSE(factor.factor(A)) << place;
  }
}

}  // namespace
}  // namespace fmd
