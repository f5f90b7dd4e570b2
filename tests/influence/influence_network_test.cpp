#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/fit/adam.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/refit.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

// A small network, trained a little, with pairs to measure on.
struct Network {
  test::Problem train;
  test::PairProblem measured;
  MlpHead head;
  Vector theta;
  double l2;

  Network(Index rows, Index classes, Activation activation, double ridge = 1e-2,
          int epochs = 30)
      : train(test::random_problem(
            {.rows = rows, .cols = 4, .classes = classes, .weighted = true})),
        measured(120, 4, classes),
        head({4, 5, classes == 2 ? 1 : classes}, activation),
        l2(ridge) {
    theta =
        train_adam(head, train.rows(),
                   {.l2 = l2, .epochs = epochs, .learning_rate = .01, .validation = 0}, {})
            .theta;
  }
  Network(const Network&) = delete;
  [[nodiscard]] BiasTarget target(const BiasMeasure& measure) const {
    return {&measure, {&measured.pairs, measured.c.rows(), measured.group}};
  }
};

// The gradient of one row's loss, on its own.
Vector row_gradient(const Network& n, Index row) {
  const std::vector<Index> one = {row};
  Rows rows = n.train.rows();
  rows.subset = one;
  return objective(n.head, rows, n.theta, 0, 1, {}).gradient;
}

TEST(InfluenceNetwork, IsTheDefinition) {
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu})
    for (const Index classes : {2, 3}) {
      const Network n(80, classes, activation);
      const auto co = make_measure("co"), loss = make_measure("loss");
      const auto result =
          influence(n.head, n.train.rows(), n.theta, {n.target(*co), n.target(*loss)},
                    {{.solver = Solver::cg,
                      .l2 = n.l2,
                      .damping = {.damping = 1e-3},
                      .tolerance = 1e-12}},
                    {});
      ASSERT_TRUE(result.solve.converged);
      const Matrix H =
          GaussNewton(n.head, n.train.rows(), n.theta, {.l2 = n.l2, .damping = 1e-3}, {})
              .matrix();
      Matrix expected(80, 2);
      for (Index j = 0; j < 2; ++j) {
        const auto gap = gap_of(n.target(j == 0 ? *co : *loss), n.head, n.theta, true, {});
        EXPECT_CLOSE(result.value[static_cast<std::size_t>(j)], gap.value, 1e-12);
        const Vector v = H.ldlt().solve(gap.gradient);
        for (Index k = 0; k < 80; ++k) expected(k, j) = row_gradient(n, k).dot(v) / 80;
      }
      EXPECT_CLOSE(result.change, expected, 1e-7);
      const auto all = objective(n.head, n.train.rows(), n.theta, n.l2, 80, {});
      Vector start = n.theta;
      start.tail((classes == 2 ? 1 : classes) * 6).setZero();
      EXPECT_CLOSE(result.relative_gradient,
                   all.gradient.norm() /
                       objective(n.head, n.train.rows(), start, 0, 80, {}).gradient.norm(),
                   1e-9);
    }
}

// To the optimum of F, by Newton's method with the exact Hessian.
Vector to_optimum(const Network& n, const Rows& rows, Vector theta) {
  for (int step = 0; step < 60; ++step) {
    const auto F = objective(n.head, rows, theta, n.l2, 80, {});
    if (F.gradient.norm() < 1e-12) break;
    Matrix H =
        GaussNewton(n.head, rows, theta, {.n = 80, .l2 = n.l2, .exact = true}, {}).matrix();
    H.diagonal().array() += std::min(1.0, 10 * F.gradient.norm());
    const Vector change = H.ldlt().solve(F.gradient);
    double length = 1;
    while (
        length > 1e-6 &&
        !(objective(n.head, rows, theta - length * change, n.l2, 80, {}).value < F.value))
      length /= 2;
    theta -= length * change;
  }
  return theta;
}

// A smooth network at an optimum with a strong ridge: one row's removal is followed to
// first order.
TEST(InfluenceNetwork, FollowsRefitsAtAnOptimum) {
  Network n(80, 2, Activation::tanh, 0.05, 200);
  n.theta = to_optimum(n, n.train.rows(), n.theta);
  ASSERT_LT(objective(n.head, n.train.rows(), n.theta, n.l2, 80, {}).gradient.norm(), 1e-9);
  const auto co = make_measure("loss");
  const BiasTarget target = n.target(*co);
  const auto result = influence(
      n.head, n.train.rows(), n.theta, {target},
      {{.solver = Solver::cholesky, .l2 = n.l2, .damping = {.damping = 0}, .exact = true}},
      {});
  EXPECT_TRUE(result.at_optimum());
  Vector real(20);
  for (Index k = 0; k < 20; ++k) {
    std::vector<float> weight(n.train.weight.begin(), n.train.weight.end());
    weight[static_cast<std::size_t>(k)] = 0;
    Rows kept = n.train.rows();
    kept.weight = weight;
    const Vector theta = to_optimum(n, kept, n.theta);
    real[k] = gap_of(target, n.head, theta, false, {}).value - result.value[0];
  }
  const Vector predicted = result.change.col(0).head(20);
  const double correlation = predicted.dot(real) / (predicted.norm() * real.norm());
  EXPECT_GT(correlation, 0.98);
}

TEST(InfluenceNetwork, SameBitsForAnyNumberOfThreads) {
  const Network n(9000, 3, Activation::relu, 1e-3, 2);
  const auto co = make_measure("co");
  const auto run = [&](const Exec& exec) {
    return influence(n.head, n.train.rows(), n.theta, {n.target(*co)}, {{.l2 = n.l2}}, exec)
        .change;
  };
  const Matrix alone = run({});
  ThreadPool two(2), four(4);
  EXPECT_EQ(run({.pool = &two}), alone);
  EXPECT_EQ(run({.pool = &four}), alone);
}

TEST(InfluenceNetwork, ACheckComparesTwoTrainingsThatDifferByTheRows) {
  const Network n(300, 2, Activation::tanh);
  const auto co = make_measure("co");
  const BiasTarget target = n.target(*co);
  const auto result =
      influence(n.head, n.train.rows(), n.theta, {target}, {{.l2 = n.l2}}, {});
  const std::vector<double> change(result.change.data(),
                                   result.change.data() + result.change.size());
  const std::vector<Index> gone = {3, 17, 40};
  const RefitOptions options{.l2 = n.l2, .epochs = 5};
  const RemovalCheck check =
      check_removal(n.head, n.train.rows(), n.theta, target, change, gone, options, {});
  EXPECT_TRUE(check.fine_tuned);
  EXPECT_FALSE(check.converged);
  EXPECT_EQ(check.rows, 3);
  const auto gap = [&](std::span<const Index> entries) {
    return gap_of(target, n.head,
                  refit_without(n.head, n.train.rows(), n.theta, entries, options, {}),
                  false, {})
        .value;
  };
  EXPECT_CLOSE(check.refitted, gap(gone) - gap({}), 1e-12);
  EXPECT_NE(check.refitted, 0);
  // Nothing left out: nothing changes, to the bit.
  const RemovalCheck none =
      check_removal(n.head, n.train.rows(), n.theta, target, change, {}, options, {});
  EXPECT_EQ(none.refitted, 0);
  EXPECT_EQ(none.newton, 0);
  EXPECT_EQ(none.predicted, 0);
}

}  // namespace
}  // namespace fmd
