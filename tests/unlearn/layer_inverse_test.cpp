#include "unlearn/layer_inverse.h"

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

using test::close;

Matrix random_rows(Index rows, Index cols, std::uint64_t seed) {
  Rng rng(seed, "rows");
  Matrix X(rows, cols);
  for (Index i = 0; i < X.size(); ++i) X.data()[i] = rng.normal();
  return X;
}

LayerCurvature random_curvature(const std::vector<Index>& widths) {
  LayerCurvature curvature(widths);
  std::uint64_t seed = 1;
  for (const auto& l : curvature.layers)
    for (const Gram& gram : {l.inputs, l.input_change, l.hold, l.slope, l.slope_change}) {
      const Index rows = std::min<Index>(gram.size + 3, 40);
      gram.add(random_rows(rows, gram.size, seed++) / std::sqrt(double(rows)),
               curvature.sums);
    }
  return curvature;
}

Matrix square(const Gram& gram, const Vector& sums) {
  const Matrix found = gram.of(sums);
  return gram.full() ? found : Matrix(found.col(0).asDiagonal());
}

Matrix kronecker(const Matrix& a, const Matrix& b) {
  Matrix all(a.rows() * b.rows(), a.cols() * b.cols());
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < a.cols(); ++j)
      all.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = a(i, j) * b;
  return all;
}

// The blocks as the header defines them; what a long side leaves out is left out here too.
Matrix block(const LayerCurvature& c, std::size_t l, double hold_scale) {
  const auto& layer = c.layers[l];
  return kronecker(
             hold_scale * square(layer.hold, c.sums) + square(layer.slope_change, c.sums),
             square(layer.inputs, c.sums)) +
         kronecker(square(layer.slope, c.sums), square(layer.input_change, c.sums));
}

TEST(LayerInverse, InvertsTheSumOfTwoKroneckerProducts) {
  const LayerCurvature c = random_curvature({5, 4, 3});
  const LayerInverse inverse(c, 1.3, 0);
  Vector v = Eigen::Map<const Vector>(random_rows(1, 39, 99).data(), 39), x = v;
  inverse.apply(x);
  EXPECT_CLOSE(Vector(block(c, 0, 1.3) * x.head(24)), Vector(v.head(24)), 1e-3);
  EXPECT_CLOSE(Vector(block(c, 1, 1.3) * x.tail(15)), Vector(v.tail(15)), 1e-3);
}

TEST(LayerInverse, ARidgeShrinks) {
  const LayerCurvature c = random_curvature({5, 4, 3});
  const Vector v = Vector::Ones(39);
  double last = 1e300;
  for (const double ridge : {0.0, 0.1, 1.0, 100.0}) {
    Vector x = v;
    LayerInverse(c, 1, ridge).apply(x);
    EXPECT_GT(x.dot(v), 0);  // positive definite
    EXPECT_LT(x.norm(), last);
    last = x.norm();
  }
}

// A side that is too long for a matrix has its diagonal.
TEST(LayerInverse, LongSidesAreDiagonal) {
  const Index wide = Gram::kMostFull;
  const LayerCurvature c = random_curvature({wide, 2});
  EXPECT_FALSE(c.layers[0].inputs.full());
  const LayerInverse inverse(c, 1, 0);
  const Vector v = Vector::Ones(2 * (wide + 1));
  Vector x = v;
  inverse.apply(x);
  EXPECT_CLOSE(Vector(block(c, 0, 1) * x), v, 1e-3);
}

// Layers that no pair reaches get the identity, not a division by zero.
TEST(LayerInverse, NothingToInvertLeavesFiniteNumbers) {
  Vector x = Vector::Ones(39);
  LayerInverse(LayerCurvature({5, 4, 3}), 1, 0).apply(x);
  EXPECT_TRUE(x.allFinite());
  EXPECT_GT(x.minCoeff(), 0);
}

}  // namespace
}  // namespace fmd
