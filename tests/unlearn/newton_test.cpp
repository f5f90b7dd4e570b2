#include "fmd/unlearn/newton.h"

#include <cmath>
#include <numeric>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/curvature/hessian.h"
#include "support/close.h"
#include "unlearn/solve_cases.h"

namespace fmd {
namespace {

using namespace test;

constexpr double kL2 = 0.05;

// Ridge regression, whose loss is quadratic: a step must land where a refit does.
struct Ridge {
  Matrix x;
  Vector y;
  double l2 = 0.1, n = 0;  // n: the original rows, whatever is left out later

  [[nodiscard]] Matrix curvature(Index rows) const {
    Matrix H = x.topRows(rows).transpose() * x.topRows(rows) / n;
    H.diagonal().array() += l2;
    return H;
  }
  [[nodiscard]] Vector fit(Index rows) const {
    const Vector b = x.topRows(rows).transpose() * y.head(rows) / n;
    return curvature(rows).ldlt().solve(b);
  }
};

Ridge ridge_problem(Index rows, Index cols) {
  Rng rng(7, "ridge");
  Ridge ridge{Matrix(rows, cols), Vector(rows), 0.1, static_cast<double>(rows)};
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) ridge.x(i, j) = rng.normal();
    ridge.y[i] = ridge.x(i, 0) + rng.normal();
  }
  return ridge;
}

TEST(NewtonStep, OnAQuadraticLossItEqualsRefittingWithoutTheRows) {
  const Ridge ridge = ridge_problem(40, 5);
  const Vector theta = ridge.fit(40);
  for (const Index kept : {39, 37, 25}) {
    const Matrix gone = ridge.x.bottomRows(40 - kept);
    const Vector g = gone.transpose() * (gone * theta - ridge.y.tail(40 - kept));
    const auto inverse = make_cholesky(ridge.curvature(kept));
    const auto result = newton_step(theta, g, *inverse, {.step_scale = 1 / ridge.n});
    EXPECT_EQ(result.summary.status, UnlearnStatus::done);
    EXPECT_CLOSE(result.theta, ridge.fit(kept), 1e-10);
  }
}

std::unique_ptr<InverseHessian> inverse_of(const SmallProblem& p) {
  return make_cholesky(hessian(p.head, p.rows, p.theta0, {.l2 = kL2}, {}));
}

// g by the textbook: sum of w (p - e_y) (x, 1)^T, class by class.
Vector textbook_gradient(const Rows& rows, const Vector& theta, Index outputs,
                         std::span<const float> more = {}) {
  const Matrix x = dense_rows(rows);
  const Matrix p = textbook_scores(x, theta, outputs);
  Vector g = Vector::Zero(theta.size());
  for (Index i = 0; i < x.rows(); ++i) {
    const double w =
        rows.weight_of(i) * (more.empty() ? 1 : more[static_cast<std::size_t>(i)]);
    for (Index k = 0; k < outputs; ++k) {
      const Index cls = outputs == 1 ? 1 : k;
      const double residual = p(i, cls) - (rows.label(i) == cls ? 1 : 0);
      g.segment(k * x.cols(), x.cols()) += w * residual * x.row(i).transpose();
    }
  }
  return g;
}

// The solution of least norm: what the gauge term must not change.
Vector pseudo_solve(const Matrix& H, const Vector& g) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(H);
  Vector x = Vector::Zero(g.size());
  const double smallest = 1e-12 * eigen.eigenvalues().maxCoeff();
  for (Index j = 0; j < g.size(); ++j) {
    const Vector u = eigen.eigenvectors().col(j);
    if (eigen.eigenvalues()[j] > smallest) x += u * (u.dot(g) / eigen.eigenvalues()[j]);
  }
  return x;
}

TEST(Unlearn, EqualsADenseSolveAndForSoftmaxThePseudoInverse) {
  int checked = 0, damped = 0;
  for (const auto& shape : shapes()) {
    for (const double l2 : {0.05, 0.0}) {  // without a ridge softmax has d + 1 null vectors
      const SmallProblem p = small_problem(shape);
      Matrix plain = hessian(p.head, p.rows, p.theta0, {.l2 = l2, .gauge = false}, {});
      const Matrix full = hessian(p.head, p.rows, p.theta0, {.l2 = l2}, {});
      const auto inverse = make_cholesky(full);
      // One-hot columns without a ridge: H is singular for a sigmoid too, and make_cholesky
      // adds its damping. The step is then that of the damped H.
      EXPECT_EQ(inverse->damping() > 0, shape.sparse && l2 == 0);
      if (inverse->damping() > 0) ++damped;
      plain.diagonal().array() += inverse->damping();
      const std::vector<Index> some = {3, 11, 12, 40};
      Rows out = p.rows;
      out.subset = some;
      const Vector g = textbook_gradient(out, p.theta0, shape.outputs);
      const auto removed =
          unlearn_rows(p.head, p.theta0, out, *inverse, {.step_scale = 0.02}, {});
      EXPECT_CLOSE(removed.theta, p.theta0 + 0.02 * pseudo_solve(plain, g), 1e-9);

      Vector swap = Vector::Zero(p.dim());
      for (const PairSet& set : p.pairs)
        swap += (textbook_gradient(set.c, p.theta0, shape.outputs, set.weight) -
                 textbook_gradient(set.cbar, p.theta0, shape.outputs, set.weight)) /
                2;
      const auto swapped =
          unlearn_pairs(p.head, p.theta0, p.pairs, *inverse, {.step_scale = 0.02}, {});
      EXPECT_CLOSE(swapped.theta, p.theta0 + 0.02 * pseudo_solve(plain, swap), 1e-9);
      EXPECT_EQ(removed.summary.rows_out, 4);
      EXPECT_EQ(removed.summary.rows_in, 0);
      EXPECT_EQ(swapped.summary.rows_in, 2 * p.pairs[0].size());
      EXPECT_LT(swapped.summary.solve.residual, 1e-9);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 8);
  EXPECT_EQ(damped, 2);
}

TEST(Unlearn, RowsThatAreReplacedByThemselvesChangeNothing) {
  for (const auto& shape : shapes()) {
    SmallProblem p = small_problem(shape);
    const auto inverse = inverse_of(p);
    for (PairSet& set : p.pairs) set.cbar = set.c;
    const auto result =
        unlearn_pairs(p.head, p.theta0, p.pairs, *inverse, {.step_scale = 1}, {});
    EXPECT_EQ(result.theta, p.theta0);
    EXPECT_EQ(result.summary.step_norm, 0);
  }
}

TEST(Unlearn, GradientsAddUpAndTakingBackComesBack) {
  const SmallProblem p = small_problem({.outputs = 3});
  const auto inverse = inverse_of(p);
  std::vector<Index> first = {1, 2, 5}, second = {7, 30}, both = {1, 2, 5, 7, 30};
  const auto gradient = [&](std::span<const Index> rows) {
    Rows out = p.rows;
    out.subset = rows;
    return unlearn_gradient(p.head, p.theta0, out, {});
  };
  EXPECT_CLOSE(Vector(gradient(first) + gradient(second)), gradient(both), 1e-12);
  const Vector g = gradient(both);
  const auto away = newton_step(p.theta0, g, *inverse, {.step_scale = 0.1});
  const auto back = newton_step(away.theta, -g, *inverse, {.step_scale = 0.1});
  EXPECT_CLOSE(back.theta, p.theta0, 1e-12);
  const auto twice = newton_step(p.theta0, g, *inverse, {.step_scale = 0.2});
  EXPECT_CLOSE(twice.summary.step_norm, 2 * away.summary.step_norm, 1e-12);
  // A row of weight 0 is none.
  SmallProblem q = small_problem({.outputs = 3});
  q.weight[7] = q.weight[30] = 0;
  Rows out = q.rows;
  out.subset = both;
  EXPECT_CLOSE(unlearn_gradient(q.head, q.theta0, out, {}), gradient(first), 1e-12);
}

TEST(Unlearn, AStepIsShortenedOnRequest) {
  const SmallProblem p = small_problem({});
  const auto inverse = inverse_of(p);
  const auto result = unlearn_rows(p.head, p.theta0, p.rows, *inverse,
                                   {.step_scale = 10, .max_relative_step = 0.25}, {});
  EXPECT_EQ(result.summary.status, UnlearnStatus::shortened);
  EXPECT_CLOSE((result.theta - p.theta0).norm(), 0.25 * p.theta0.norm(), 1e-12);
  EXPECT_NE(result.summary.brief().find("shortened: 60 rows out, 0 in"), std::string::npos)
      << result.summary.brief();
  EXPECT_EQ(UnlearnSummary{}.brief(), "not run");
}

TEST(Unlearn, ErrorsSayWhatCameAndWhatIsNeeded) {
  SmallProblem p = small_problem({});
  const auto inverse = inverse_of(p);
  EXPECT_ERROR(unlearn_rows(p.head, p.theta0, p.rows, *inverse, {.step_scale = -1}, {}),
               ErrorKind::bad_option, "unlearn: option step_scale is -1, must be > 0");
  EXPECT_ERROR(unlearn_rows(p.head, p.theta0, p.rows, *inverse, {}, {}),
               ErrorKind::bad_option, "unlearn: option step_scale is 0, must be > 0");
  EXPECT_ERROR(unlearn_rows(p.head, p.theta0, p.rows, *inverse,
                            {.step_scale = 1, .max_relative_step = 0}, {}),
               ErrorKind::bad_option, "max_relative_step is 0, must be > 0");
  EXPECT_ERROR(newton_step(Vector::Zero(3), Vector::Zero(3), *inverse, {.step_scale = 1}),
               ErrorKind::bad_shape,
               "unlearn: theta has 3 parameters but the curvature has 6");
  EXPECT_ERROR(newton_step(p.theta0, Vector::Zero(3), *inverse, {.step_scale = 1}),
               ErrorKind::bad_shape, "unlearn: the gradient has 3 entries, needs 6");
  const Vector nan = Vector::Constant(p.dim(), std::nan(""));
  EXPECT_ERROR(newton_step(p.theta0, nan, *inverse, {.step_scale = 1}),
               ErrorKind::numerical, "the gradient is not finite");
  p.y[4] = -1;
  EXPECT_ERROR(unlearn_gradient(p.head, p.theta0, p.rows, {}), ErrorKind::bad_data,
               "row 4 has label -1");
  std::vector<Index> fewer(59);
  std::iota(fewer.begin(), fewer.end(), Index{0});
  p.pairs[0].cbar.subset = fewer;
  EXPECT_ERROR(unlearn_pairs(p.head, p.theta0, p.pairs, *inverse, {.step_scale = 1}, {}),
               ErrorKind::bad_shape, "unlearn: 60 rows c but 59 rows cbar");
}

TEST(Unlearn, SameBitsForAnyNumberOfThreads) {
  const SmallProblem p = small_problem({.rows = 9000, .outputs = 3, .sparse = true});
  Vector rows, pairs;
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const Exec exec{.pool = &pool, .seed = 1, .progress = nullptr};
    const auto inverse =
        make_cholesky(hessian(p.head, p.rows, p.theta0, {.l2 = kL2}, exec));
    const UnlearnOptions options{.step_scale = 1e-3};
    const auto one = unlearn_rows(p.head, p.theta0, p.rows, *inverse, options, exec);
    const auto two = unlearn_pairs(p.head, p.theta0, p.pairs, *inverse, options, exec);
    if (rows.size() == 0) {
      rows = one.theta;
      pairs = two.theta;
    }
    EXPECT_EQ(one.theta, rows) << threads;
    EXPECT_EQ(two.theta, pairs) << threads;
  }
}

}  // namespace
}  // namespace fmd
