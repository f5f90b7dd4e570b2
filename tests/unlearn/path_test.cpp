#include "fmd/unlearn/path.h"

#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "fmd/curvature/hessian.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "unlearn/pair_slopes.h"
#include "unlearn/small_problem.h"

namespace fmd {
namespace {

using test::small_problem;
using test::SmallProblem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<test::ProblemShape> path_shapes() {
  std::vector<test::ProblemShape> all;
  for (const Index outputs : {1, 2, 4})
    for (const bool sparse : {false, true})
      all.push_back({.outputs = outputs, .sparse = sparse, .sets = 2});
  return all;
}

Matrix slope_matrix(const Vector& z) {
  const Vector e = (z.array() - z.maxCoeff()).exp();
  const Vector p = e / e.sum();
  Matrix S = -p * p.transpose();
  S.diagonal() += p;
  return S;
}

// Simpson's rule with 400 panels.
Matrix secant_by_simpson(const Vector& from, const Vector& to) {
  const int panels = 400;
  Matrix sum = Matrix::Zero(from.size(), from.size());
  for (int k = 0; k <= 2 * panels; ++k) {
    const double t = static_cast<double>(k) / (2 * panels);
    const double weight = k == 0 || k == 2 * panels ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight / (6 * panels) * slope_matrix(from + t * (to - from));
  }
  return sum;
}

// The definition: mean of (Sbar^T Sbar) (x) (delta delta^T), with all classes of a sigmoid.
Matrix naive_consistency(const SmallProblem& p, const Vector& theta) {
  const Index outputs = p.head.outputs(), stride = p.head.inputs() + 1;
  const Eigen::Map<const Matrix> W(theta.data(), outputs, stride);
  Matrix G = Matrix::Zero(p.dim(), p.dim());
  for (const PairSet& set : p.pairs) {
    const Matrix c = test::dense_rows(set.c), cbar = test::dense_rows(set.cbar);
    for (Index i = 0; i < set.size(); ++i) {
      const Vector delta = (c.row(i) - cbar.row(i)).transpose();
      const Vector z = W * c.row(i).transpose(), zbar = W * cbar.row(i).transpose();
      Matrix M(1, 1);
      if (outputs == 1) {
        const double s = 1 / (1 + std::exp(-z[0])), sbar = 1 / (1 + std::exp(-zbar[0]));
        const double dz = z[0] - zbar[0];
        M(0, 0) = 2 * std::pow(dz == 0 ? s * (1 - s) : (s - sbar) / dz, 2);
      } else {
        const Matrix S = secant_by_simpson(zbar, z);
        M = S.transpose() * S;
      }
      const double w = static_cast<double>(set.weight[static_cast<std::size_t>(i)]) /
                       (set.total_weight() * static_cast<double>(p.pairs.size()));
      for (Index k = 0; k < outputs; ++k)
        for (Index l = 0; l < outputs; ++l)
          G.block(k * stride, l * stride, stride, stride) +=
              w * M(k, l) * delta * delta.transpose();
    }
  }
  return G;
}

struct PathCase {
  SmallProblem p;
  Matrix H, G;
  Path path;
};

PathCase path_case(const test::ProblemShape& shape, double l2 = 0.01) {
  PathCase c{.p = small_problem(shape), .H = {}, .G = {}, .path = {}};
  c.H = hessian(c.p.head, c.p.rows, c.p.theta0, {.l2 = l2}, {});
  c.G = consistency_matrix(c.p.head, c.p.pairs, c.p.theta0, {});
  c.path = make_path(c.H, c.G, c.p.theta0);
  return c;
}

// Mean |p(c) - p(cbar)| over all classes and pairs.
double mean_gap(const SmallProblem& p, const Vector& theta) {
  double sum = 0;
  for (const PairSet& set : p.pairs)
    sum += (all_probabilities(p.head, set.c, theta, {}) -
            all_probabilities(p.head, set.cbar, theta, {}))
               .cwiseAbs()
               .mean();
  return sum;
}

TEST(ConsistencyMatrix, IsTheMeanOfTheDefinition) {
  for (const auto& shape : path_shapes()) {
    const SmallProblem p = small_problem(shape);
    const Matrix G = consistency_matrix(p.head, p.pairs, p.theta0, {});
    EXPECT_CLOSE(G, naive_consistency(p, p.theta0), 1e-9);
    EXPECT_CLOSE(G, Matrix(G.transpose()), 1e-15);
  }
}

TEST(ConsistencyMatrix, GivesTheSquaredGapsAtTheta) {
  for (const auto& shape : path_shapes()) {
    const SmallProblem p = small_problem(shape);
    double squares = 0;
    for (const PairSet& set : p.pairs) {
      const Matrix gap = all_probabilities(p.head, set.c, p.theta0, {}) -
                         all_probabilities(p.head, set.cbar, p.theta0, {});
      for (Index i = 0; i < set.size(); ++i)
        squares += static_cast<double>(set.weight[static_cast<std::size_t>(i)]) *
                   gap.row(i).squaredNorm() / set.total_weight() / 2;
    }
    const Matrix G = consistency_matrix(p.head, p.pairs, p.theta0, {});
    EXPECT_CLOSE(p.theta0.dot(G * p.theta0), squares, 1e-10);
  }
}

TEST(ConsistencyMatrix, IsTheSameForAnyNumberOfThreads) {
  for (const Index outputs : {1, 3})
    for (const bool sparse : {false, true}) {
      const SmallProblem p =
          small_problem({.rows = 9000, .outputs = outputs, .sparse = sparse});
      const Matrix alone = consistency_matrix(p.head, p.pairs, p.theta0, {});
      for (const int threads : {2, 4}) {
        ThreadPool pool(threads);
        EXPECT_EQ(alone, consistency_matrix(p.head, p.pairs, p.theta0, {.pool = &pool}));
      }
    }
}

TEST(SecantSlope, TakesLogitDifferencesToScoreDifferences) {
  Rng rng(3);
  for (const Index outputs : {1, 2, 5, 10})
    for (const double size : {0.0, 1e-9, 1e-3, 1.0, 5.0, 40.0, 400.0}) {
      Vector z(outputs), dz(outputs), p(outputs), dp(outputs);
      for (Index k = 0; k < outputs; ++k) {
        z[k] = 2 * rng.normal();
        dz[k] = size * rng.normal();
      }
      const auto n = static_cast<std::size_t>(outputs);
      Matrix Sbar;
      secant_slope({z.data(), n}, {dz.data(), n}, Sbar);
      pair_scores({z.data(), n}, {dz.data(), n}, {p.data(), n}, {dp.data(), n});
      EXPECT_LE((Sbar * dz - dp).cwiseAbs().maxCoeff(), 1e-9 * dp.cwiseAbs().maxCoeff());
    }
}

TEST(PairScores, KeepDigitsOfTinyDifferences) {
  for (const Index outputs : {1, 3}) {
    Vector z = Vector::LinSpaced(outputs, 0.3, 1.1), p(outputs), dp(outputs);
    Vector dz = 1e-12 * Vector::LinSpaced(outputs, 1, -2);
    const auto n = static_cast<std::size_t>(outputs);
    pair_scores({z.data(), n}, {dz.data(), n}, {p.data(), n}, {dp.data(), n});
    Matrix S;
    slope({p.data(), n}, S);
    EXPECT_CLOSE(dp, Vector(S * dz), 1e-11);
  }
}

TEST(Path, SolvesTheQuadraticProblem) {
  for (const auto& shape : path_shapes()) {
    const PathCase c = path_case(shape);
    EXPECT_EQ(c.path.damping, 0);
    EXPECT_GT(c.path.rcond, 0);
    for (const double lambda : {1e-3, 0.7, 30.0, 1e4}) {
      const Matrix A = c.H + 2 * lambda * c.G;
      const Vector direct = A.ldlt().solve(c.H * c.p.theta0);
      EXPECT_CLOSE(c.path.theta(lambda), direct, 1e-9);
    }
  }
}

TEST(Path, IsWhereDescentEnds) {
  for (const Index outputs : {1, 3}) {
    const PathCase c = path_case({.outputs = outputs}, 0.1);
    const double lambda = 2;
    Vector theta = Vector::Zero(c.p.dim());
    for (int i = 0; i < 20000; ++i) {  // steepest descent with the exact step
      const Vector g = c.H * (theta - c.p.theta0) + 2 * lambda * c.G * theta;
      if (g.norm() < 1e-13) break;
      theta -= g.squaredNorm() / g.dot(c.H * g + 2 * lambda * c.G * g) * g;
    }
    EXPECT_CLOSE(c.path.theta(lambda), theta, 1e-9);
  }
}

TEST(Path, BeginsAtTheta0AndEndsWithoutSecantGaps) {
  for (const auto& shape : path_shapes()) {
    const PathCase c = path_case(shape);
    EXPECT_EQ(c.path.theta(0), c.p.theta0);
    const double before = c.p.theta0.dot(c.G * c.p.theta0);
    const Vector end = c.path.theta(kInfinity);
    EXPECT_LE(std::abs(end.dot(c.G * end)), 1e-14 * before);
    EXPECT_LE(mean_gap(c.p, end), 1e-7);
    EXPECT_CLOSE(c.path.theta(1e13), end, 1e-6);
    EXPECT_GE(c.path.g.minCoeff(), 0);
  }
}

TEST(Path, EigenvectorsAreOrthonormalInH) {
  const PathCase c = path_case({.outputs = 3, .sparse = true});
  EXPECT_CLOSE(Matrix(c.path.U.transpose() * c.H * c.path.U),
               Matrix(Matrix::Identity(c.p.dim(), c.p.dim())), 1e-10);
}

TEST(Path, IsTheSameForASigmoidAndItsTwoClassSoftmax) {
  for (const bool sparse : {false, true}) {
    const PathCase one = path_case({.sparse = sparse}, 0.02);
    const LinearHead head(one.p.head.inputs(), 2);
    const Vector theta0 = test::as_softmax(one.p.theta0);
    const Path two = make_path(hessian(head, one.p.rows, theta0, {.l2 = 0.04}, {}),
                               consistency_matrix(head, one.p.pairs, theta0, {}), theta0);
    for (const double lambda : {0.1, 10.0, 1e5})
      EXPECT_CLOSE(all_probabilities(head, one.p.rows, two.theta(lambda), {}),
                   all_probabilities(one.p.head, one.p.rows, one.path.theta(lambda), {}),
                   1e-9);
  }
}

TEST(Path, DampsAHessianThatIsSingular) {
  const PathCase c =
      path_case({.sparse = true}, 0.0);  // one-hot columns add up to the intercept
  EXPECT_GT(c.path.damping, 0);
  EXPECT_EQ(c.path.theta(0), c.p.theta0);
  EXPECT_LE(mean_gap(c.p, c.path.theta(kInfinity)), 1e-7);
}

TEST(PathLambdas, SpanThePath) {
  for (const auto& shape : path_shapes()) {
    const PathCase c = path_case(shape);
    const auto lambdas = path_lambdas(c.path, 30);
    ASSERT_EQ(lambdas.size(), 30U);
    for (std::size_t i = 1; i + 1 < lambdas.size(); ++i)
      EXPECT_CLOSE(lambdas[i] / lambdas[i - 1], lambdas[i + 1] / lambdas[i], 1e-9);
    const double before = mean_gap(c.p, c.p.theta0);
    EXPECT_GT(lambdas[1], lambdas[0]);
    EXPECT_GE(mean_gap(c.p, c.path.theta(lambdas.front())), 0.97 * before);
    EXPECT_LE(mean_gap(c.p, c.path.theta(lambdas.back())), 1e-6 * before);
    EXPECT_EQ(path_lambdas(c.path, 1).front(), lambdas.back());
  }
}

TEST(PathLambdas, ArePositiveWhereThereIsNothingToRemove) {
  PathCase c = path_case({});
  c.path = make_path(c.H, Matrix::Zero(c.p.dim(), c.p.dim()), c.p.theta0);
  for (const double lambda : path_lambdas(c.path, 5)) {
    EXPECT_GT(lambda, 0);
    EXPECT_EQ(c.path.theta(lambda), c.p.theta0);
  }
  c.path = make_path(c.H, c.G, Vector::Zero(c.p.dim()));
  for (const double lambda : path_lambdas(c.path, 5)) EXPECT_GT(lambda, 0);
}

TEST(Path, SaysWhatIsWrong) {
  const PathCase c = path_case({});
  EXPECT_ERROR(c.path.theta(-1), ErrorKind::bad_option, "lambda is -1");
  EXPECT_ERROR(c.path.theta(std::nan("")), ErrorKind::bad_option, "lambda");
  EXPECT_ERROR(path_lambdas(c.path, 0), ErrorKind::bad_option, "points is 0");
  EXPECT_ERROR(make_path(c.H, Matrix::Zero(2, 2), c.p.theta0), ErrorKind::bad_shape,
               "of G");
  EXPECT_ERROR(
      make_path(c.H, Matrix::Constant(c.p.dim(), c.p.dim(), kInfinity), c.p.theta0),
      ErrorKind::numerical, "not finite");
  EXPECT_ERROR(consistency_matrix(c.p.head, c.p.pairs, Vector::Zero(2), {}),
               ErrorKind::bad_shape, "theta has 2");
  auto pairs = c.p.pairs;
  pairs[0].c.subset = pairs[0].c.subset.first(7);
  EXPECT_ERROR(consistency_matrix(c.p.head, pairs, c.p.theta0, {}), ErrorKind::bad_shape,
               "7 rows c but 60 rows cbar");
  pairs = c.p.pairs;
  pairs[0].weight.assign(pairs[0].weight.size(), 0.0F);
  EXPECT_ERROR(consistency_matrix(c.p.head, pairs, c.p.theta0, {}), ErrorKind::bad_data,
               "weight 0");
}

// The large way on small problems: the same points and the same grid.
TEST(Path, LargeWayAgreesWithTheEigendecomposition) {
  for (const test::ProblemShape& shape : path_shapes()) {
    SCOPED_TRACE(testing::Message()
                 << shape.outputs << " outputs, sparse " << shape.sparse);
    const SmallProblem p = small_problem(shape);
    const Path dense = make_path(p.head, p.rows, p.pairs, p.theta0, {.l2 = 1e-2}, {});
    const Path large =
        make_path(p.head, p.rows, p.pairs, p.theta0, {.l2 = 1e-2, .max_dense = 0}, {});
    EXPECT_TRUE(large.converged);
    EXPECT_LT(large.residual, 1e-9);
    EXPECT_LE(large.U.cols(), dense.U.cols());
    const std::vector<double> grid = path_lambdas(dense, 9), own = path_lambdas(large, 9);
    for (std::size_t k = 0; k < grid.size(); ++k) {
      EXPECT_NEAR(own[k] / grid[k], 1, 1e-6);
      const Vector theta = dense.theta(grid[k]);
      EXPECT_LT((large.theta(grid[k]) - theta).norm(), 1e-7 * theta.norm());
    }
    EXPECT_EQ(large.theta(0), p.theta0);
  }
}

TEST(Path, LargeWayEndsAtItsLimitAndSaysSo) {
  const SmallProblem p = small_problem({.outputs = 4, .sparse = false});
  const Path path = make_path(p.head, p.rows, p.pairs, p.theta0,
                              {.l2 = 1e-2, .max_dense = 0, .max_directions = 2}, {});
  EXPECT_EQ(path.U.cols(), 2);
  EXPECT_FALSE(path.converged);
  EXPECT_GT(path.residual, 1e-9);
  EXPECT_THROW(
      (void)make_path(p.head, p.rows, p.pairs, p.theta0, {.max_directions = 0}, {}), Error);
}

TEST(Path, LargeWayWithoutGapsStaysAtTheta0) {
  SmallProblem p = small_problem({.outputs = 1, .sparse = true});
  for (PairSet& set : p.pairs) set.cbar = set.c;
  const Path path =
      make_path(p.head, p.rows, p.pairs, p.theta0, {.l2 = 1e-2, .max_dense = 0}, {});
  EXPECT_EQ(path.theta(1e9), p.theta0);
  EXPECT_EQ(path_lambdas(path, 3).size(), 3U);
}

}  // namespace
}  // namespace fmd
