#include "fmd/curvature/weighted_outer.h"

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;
using test::random_vector;

TEST(WeightedOuter, IsTheNaiveSumForWeightsOfBothSigns) {
  for (const bool sparse : {false, true}) {
    for (const bool ones : {false, true}) {
      const test::ProblemShape shape{
          .rows = 600, .cols = 7, .sparse = sparse, .ones = ones};
      const auto problem = random_problem(shape);
      const auto values = test::random_values(shape);
      const Vector w = random_vector(600, 4);
      Matrix X = Matrix::Ones(600, 8);
      for (Index i = 0; i < 600; ++i)
        for (Index j = 0; j < 7; ++j) X(i, j) = values[static_cast<std::size_t>(i * 7 + j)];
      const Matrix expected = X.transpose() * w.asDiagonal() * X;

      Scratch scratch;
      Matrix sum = Matrix::Constant(8, 8, 2);
      add_weighted_outer(problem.X->block(0, scratch), {w.data(), 600}, sum);
      for (Index i = 0; i < 8; ++i) {
        for (Index j = 0; j <= i; ++j) EXPECT_CLOSE(sum(i, j), expected(i, j) + 2, 1e-12);
        for (Index j = i + 1; j < 8; ++j) EXPECT_EQ(sum(i, j), 2);
      }
    }
  }
}

TEST(WeightedOuter, AddsToPartOfALargerMatrix) {
  const auto problem = random_problem({.rows = 10, .cols = 2});
  const std::vector<double> w(10, 1.0);
  Scratch scratch;
  const auto block = problem.X->block(0, scratch);
  Matrix alone = Matrix::Zero(3, 3), large = Matrix::Zero(5, 5);
  add_weighted_outer(block, w, alone);
  add_weighted_outer(block, w, large.block(1, 1, 3, 3));
  EXPECT_EQ(Matrix(large.block(1, 1, 3, 3)), alone);
  EXPECT_CLOSE(large.sum(), alone.sum(), 1e-14);
}

}  // namespace
}  // namespace fmd
