#include "fmd/unlearn/solve.h"

#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "fmd/curvature/hessian.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/path.h"
#include "support/close.h"
#include "unlearn/solve_cases.h"

namespace fmd {
namespace {

using namespace test;

// Newton's method with a Hessian from differences of the gradient, damped until J falls.
Vector newton_minimum(const SmallProblem& p, const SolveOptions& options, Vector theta) {
  const auto J = [&](const Vector& at) {
    return solve_objective(p.head, p.theta0, p.rows, p.pairs, options, at, {});
  };
  for (int iteration = 0; iteration < 60; ++iteration) {
    const auto now = J(theta);
    Matrix H(theta.size(), theta.size());
    for (Index j = 0; j < theta.size(); ++j) {
      Vector up = theta, down = theta;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      H.col(j) = (J(up).gradient - J(down).gradient) / 2e-5;
    }
    H = (0.5 * (H + H.transpose())).eval();
    bool fell = false;
    for (double ridge = 0; ridge < 1e6 && !fell; ridge = ridge == 0 ? 1e-6 : 10 * ridge) {
      Matrix A = H;
      A.diagonal().array() += ridge;
      const Vector next = theta - A.ldlt().solve(now.gradient);
      fell = J(next).value < now.value;
      if (fell) theta = next;
    }
    if (!fell) break;
  }
  return theta;
}

TEST(Solve, FindsTheMinimum) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    std::vector<SolveOptions> all = {
        {.anchor = 1, .lambda = 5, .mu = 1e-3, .gaps = {}},
        {.anchor = 1, .fit = 0.5, .lambda = 2, .mu = 0.05, .gaps = {parity_gap(p, 3)}},
        {.anchor = 0, .fit = 1, .lambda = 1, .mu = 0.05, .gaps = {}}};
    for (const SolveOptions& options : all) {
      const auto result = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
      EXPECT_EQ(result.summary.status, SolveStatus::converged);
      EXPECT_LE(result.summary.gradient, 1e-6);
      const Vector newton = newton_minimum(p, options, p.theta0);
      EXPECT_CLOSE(result.theta, newton, 1e-5);
      const auto at_newton =
          solve_objective(p.head, p.theta0, p.rows, p.pairs, options, newton, {});
      EXPECT_CLOSE(result.summary.objective, at_newton.value, 1e-10);
    }
  }
}

TEST(Solve, FollowsThePathForSmallChanges) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    double total = 0;
    for (Index i = 0; i < p.rows.size(); ++i) total += p.rows.weight_of(i);
    // Secants agree with slopes to first order only where gaps are small: scale them down.
    SmallProblem near = small_problem(shape);
    near.theta0 *= 1e-3;
    const Matrix H =
        hessian(near.head, near.rows, near.theta0, {.l2 = 0, .rows_in_mean = total}, {}) +
        Matrix(1e-3 * Matrix::Identity(p.dim(), p.dim()));
    const Path small = make_path(
        H, consistency_matrix(near.head, near.pairs, near.theta0, {}), near.theta0);
    const SolveOptions options{.anchor = 1, .lambda = 0.5, .mu = 1e-3, .gaps = {}};
    const auto result = solve(near.head, near.theta0, near.rows, near.pairs, options, {});
    EXPECT_CLOSE(result.theta, small.theta(0.5), 1e-4);
    EXPECT_GT((result.theta - near.theta0).norm(), 0.05 * near.theta0.norm());
  }
}

TEST(Solve, NeverRaisesTheObjective) {
  for (const double size : {1.0, 8.0})
    for (const double lambda : {1e-3, 1.0, 1e3, 1e9})
      for (const Index outputs : {1, 3}) {
        const SmallProblem p =
            small_problem({.outputs = outputs, .sparse = true, .size = size});
        const SolveOptions options{.anchor = 1, .lambda = lambda, .gaps = {}};
        double before = std::numeric_limits<double>::infinity();
        for (const int iterations : {0, 1, 2, 3, 5, 100}) {
          SolveOptions some = options;
          some.max_iterations = iterations;
          const auto s = solve(p.head, p.theta0, p.rows, p.pairs, some, {});
          EXPECT_TRUE(s.theta.allFinite());
          EXPECT_LE(s.summary.objective, s.summary.start_objective);
          EXPECT_LE(s.summary.objective, before);
          before = s.summary.objective;
        }
      }
}

TEST(Solve, ReachesTinyGapsAtHugeLambdas) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    for (const double lambda : {1e6, 1e9}) {
      const SolveOptions options{.anchor = 1, .lambda = lambda, .mu = 1e-4, .gaps = {}};
      const auto cold = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
      EXPECT_NE(cold.summary.status, SolveStatus::stopped);
      const Path path =
          make_path(hessian(p.head, p.rows, p.theta0, {.l2 = 1e-4}, {}),
                    consistency_matrix(p.head, p.pairs, p.theta0, {}), p.theta0);
      const auto warm =
          solve(p.head, p.theta0, p.rows, p.pairs, options, {}, path.theta(lambda));
      EXPECT_NE(warm.summary.status, SolveStatus::stopped);
      EXPECT_LE(warm.summary.objective, warm.summary.start_objective);
      EXPECT_CLOSE(cold.theta, warm.theta, 1e-5);
      const Matrix gap = all_probabilities(p.head, p.pairs[0].c, warm.theta, {}) -
                         all_probabilities(p.head, p.pairs[0].cbar, warm.theta, {});
      EXPECT_LE(gap.cwiseAbs().maxCoeff(), 10 / lambda);
    }
  }
}

TEST(Solve, StaysWhereItIsWithoutAPull) {
  const SmallProblem p = small_problem({.outputs = 3});
  const SolveOptions options{.anchor = 1, .lambda = 0, .mu = 0.1, .gaps = {}};
  const auto result = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
  EXPECT_EQ(result.theta, p.theta0);
  EXPECT_EQ(result.summary.status, SolveStatus::converged);
  EXPECT_EQ(result.summary.objective, 0);
}

TEST(Solve, ConjugateGradientsFindTheSameMinimum) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    SolveOptions options{
        .anchor = 1, .fit = 0.3, .lambda = 4, .mu = 0.01, .gaps = {parity_gap(p, 2)}};
    const auto dense = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
    options.max_dense = 0;
    options.max_iterations = 500;
    const auto products = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
    EXPECT_GT(dense.summary.factorisations, 0);
    EXPECT_EQ(products.summary.factorisations, 0);
    EXPECT_NE(products.summary.status, SolveStatus::stopped);
    EXPECT_CLOSE(products.theta, dense.theta, 1e-5);
    EXPECT_CLOSE(products.summary.objective, dense.summary.objective, 1e-10);
  }
}

TEST(Solve, IsTheSameForASigmoidAndItsTwoClassSoftmax) {
  for (const bool sparse : {false, true}) {
    const SmallProblem p = small_problem({.sparse = sparse});
    SolveOptions options{.anchor = 1, .fit = 0.2, .lambda = 7, .mu = 0.01, .gaps = {}};
    const auto one = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
    const LinearHead head(p.head.inputs(), 2);
    options.mu *= 2;
    const auto two = solve(head, as_softmax(p.theta0), p.rows, p.pairs, options, {});
    EXPECT_CLOSE(one.summary.objective, two.summary.objective, 1e-11);
    EXPECT_CLOSE(all_probabilities(head, p.rows, two.theta, {}),
                 all_probabilities(p.head, p.rows, one.theta, {}), 1e-7);
  }
}

TEST(Solve, IsTheSameForAnyNumberOfThreads) {
  for (const Index outputs : {1, 3})
    for (const bool sparse : {false, true})
      for (const Index max_dense : {0, 2000}) {
        const SmallProblem p =
            small_problem({.rows = 9000, .outputs = outputs, .sparse = sparse});
        const SolveOptions options{.anchor = 1,
                                   .lambda = 10,
                                   .gaps = {parity_gap(p, 1)},
                                   .max_iterations = 4,
                                   .max_dense = max_dense};
        const auto alone = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
        for (const int threads : {2, 4}) {
          ThreadPool pool(threads);
          EXPECT_EQ(
              alone.theta,
              solve(p.head, p.theta0, p.rows, p.pairs, options, {.pool = &pool}).theta);
        }
      }
}

TEST(Solve, FallsBackToTheta0WhereTheStartIsNotFinite) {
  const SmallProblem p = small_problem({});
  const SolveOptions options{.anchor = 1, .lambda = 3, .gaps = {}};
  const Vector start = Vector::Constant(p.dim(), std::numeric_limits<double>::quiet_NaN());
  const auto result = solve(p.head, p.theta0, p.rows, p.pairs, options, {}, start);
  EXPECT_EQ(result.theta, solve(p.head, p.theta0, p.rows, p.pairs, options, {}).theta);
}

TEST(Solve, SaysWhatIsWrong) {
  const SmallProblem p = small_problem({});
  const auto run = [&](const SolveOptions& options, const std::vector<PairSet>& pairs,
                       const Vector& theta) {
    return solve(p.head, theta, p.rows, pairs, options, {});
  };
  EXPECT_ERROR(run({.anchor = -1, .gaps = {}}, p.pairs, p.theta0), ErrorKind::bad_option,
               "solve: option anchor is -1, must be >= 0");
  EXPECT_ERROR(run({.lambda = -2, .gaps = {}}, p.pairs, p.theta0), ErrorKind::bad_option,
               "lambda is -2");
  EXPECT_ERROR(run({.mu = std::nan(""), .gaps = {}}, p.pairs, p.theta0),
               ErrorKind::bad_option, "mu is nan");
  EXPECT_ERROR(run({.gaps = {}, .tolerance = 0}, p.pairs, p.theta0), ErrorKind::bad_option,
               "tolerance");
  EXPECT_ERROR(run({.gaps = {parity_gap(p, -1)}}, p.pairs, p.theta0), ErrorKind::bad_option,
               "gamma is -1");
  EXPECT_ERROR(
      run({.gaps = {{.measure = make_measure("co"), .gamma = 1, .group = p.group}}},
          p.pairs, p.theta0),
      ErrorKind::bad_option, "needs a measure on rows");
  EXPECT_ERROR(run({}, p.pairs, Vector::Zero(3)), ErrorKind::bad_shape, "theta0 has 3");
  EXPECT_ERROR(solve(p.head, p.theta0, p.rows, p.pairs, {}, {}, Vector::Zero(3)),
               ErrorKind::bad_shape, "start has 3");
  auto pairs = p.pairs;
  pairs[0].weight.pop_back();
  EXPECT_ERROR(run({}, pairs, p.theta0), ErrorKind::bad_shape, "weight of the pairs");
  pairs = p.pairs;
  pairs[0].c.y = {};
  EXPECT_ERROR(run({.fit = 1, .gaps = {}}, pairs, p.theta0), ErrorKind::bad_data,
               "no label");
  EXPECT_ERROR(solve(p.head, p.theta0, Rows{}, p.pairs, {}, {}), ErrorKind::bad_data,
               "no rows");
}

}  // namespace
}  // namespace fmd
