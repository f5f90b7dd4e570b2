#include <cmath>

#include <gtest/gtest.h>

#include "fmd/curvature/inverse_hessian.h"
#include "fmd/curvature/spectrum.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/deep.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::Deep;
using test::random_problem;
using test::random_vector;

// Right-hand sides as gradients have them.
Matrix gradients_of(const Deep& d, Index count) {
  Matrix b(d.theta.size(), count);
  for (Index j = 0; j < count; ++j) {
    const Rows rows = d.problem.rows();
    const std::vector<Index> some = {j, 7 * j + 11, 200 + j};
    b.col(j) =
        objective(d.head, {rows.X, rows.y, rows.weight, some}, d.theta, 0, 0, {}).gradient;
  }
  return b;
}

TEST(LayeredInverse, CgAndLissaAgreeWithCholesky) {
  for (const Index outputs : {1, 3}) {
    const Deep d(Activation::tanh, outputs);
    const Matrix b = gradients_of(d, 2);
    CurvatureOptions options{.solver = Solver::cholesky, .l2 = 1e-3};
    options.damping.damping = 0.02;
    const auto exact = make_inverse_hessian(d.head, d.problem.rows(), d.theta, options, {});
    const InverseResult x = exact->apply(b);
    EXPECT_TRUE(x.summary.converged);
    options.tolerance = 1e-10;
    options.max_iterations = 5000;
    for (const Solver solver : {Solver::cg, Solver::lissa}) {
      options.solver = solver;
      const auto inverse =
          make_inverse_hessian(d.head, d.problem.rows(), d.theta, options, {});
      const InverseResult y = inverse->apply(b);
      SCOPED_TRACE(y.summary.solver);
      EXPECT_EQ(y.summary.solver, to_string(solver));
      EXPECT_TRUE(y.summary.converged);
      EXPECT_LE(y.summary.residual, 2e-10);
      EXPECT_EQ(y.summary.damping, 0.02);
      EXPECT_CLOSE(y.x, x.x, 1e-7);
    }
  }
}

TEST(LayeredInverse, DampingIsAHundredthOfTheMeanEigenvalue) {
  const Deep d(Activation::gelu);
  const double mean = d.product({.l2 = 1e-3}).matrix().diagonal().mean();
  CurvatureOptions options{.solver = Solver::cholesky, .l2 = 1e-3};
  const auto formed = make_inverse_hessian(d.head, d.problem.rows(), d.theta, options, {});
  EXPECT_CLOSE(formed->damping(), 0.01 * mean, 1e-9);
  options.solver = Solver::cg;
  const auto probed = make_inverse_hessian(d.head, d.problem.rows(), d.theta, options, {});
  EXPECT_GT(probed->damping(), 0.003 * mean);
  EXPECT_LT(probed->damping(), 0.03 * mean);
}

TEST(LayeredInverse, ADivergingSeriesIsReportedAndFinite) {
  const Deep d(Activation::tanh);
  const Spectrum spectrum = estimate_spectrum(d.product({.l2 = 1e-3}), 60, 1, 1);
  CurvatureOptions options{.solver = Solver::lissa, .l2 = 1e-3, .max_iterations = 100000};
  options.lissa_scale = 0.2 * spectrum.largest;
  const auto inverse = make_inverse_hessian(d.head, d.problem.rows(), d.theta, options, {});
  const InverseResult result = inverse->apply(gradients_of(d, 1));
  EXPECT_FALSE(result.summary.converged);
  EXPECT_TRUE(result.x.allFinite());
  EXPECT_TRUE(std::isfinite(result.summary.residual));
  EXPECT_LE(result.summary.residual, 1);
  EXPECT_LT(result.summary.iterations, 1000);
}

TEST(LayeredInverse, KfacIsExactForOneRowOfALinearHead) {
  const auto problem = random_problem({.rows = 1, .cols = 5, .classes = 3});
  const LinearHead head(5, 3);
  const Vector theta = random_vector(head.parameters(), 3, 0.4);
  CurvatureOptions options{.solver = Solver::cholesky};
  options.damping.damping = 0.1;
  const Matrix b = objective(head, problem.rows(), theta, 0, 0, {}).gradient;
  const Matrix x =
      make_inverse_hessian(head, problem.rows(), theta, options, {})->apply(b).x;
  options.solver = Solver::kfac;
  const InverseResult y =
      make_inverse_hessian(head, problem.rows(), theta, options, {})->apply(b);
  EXPECT_CLOSE(y.x, x, 1e-10);
  EXPECT_LE(y.summary.residual, 1e-10);
}

TEST(LayeredInverse, KfacTellsHowFarItIsAndIsNear) {
  const Deep d(Activation::tanh);
  const Matrix b = gradients_of(d, 1);
  CurvatureOptions options{.solver = Solver::cholesky, .l2 = 1e-3};
  options.damping.damping = 0.05;
  const auto rows = d.problem.rows();
  const Vector x =
      make_inverse_hessian(d.head, rows, d.theta, options, {})->apply(b).x.col(0);
  options.solver = Solver::kfac;
  const auto inverse = make_inverse_hessian(d.head, rows, d.theta, options, {});
  const InverseResult result = inverse->apply(b);
  const Vector y = result.x.col(0);
  EXPECT_FALSE(result.summary.converged);
  const double residual =
      (d.product({.l2 = 1e-3, .damping = 0.05}).apply(y) - b.col(0)).norm() /
      b.col(0).norm();
  EXPECT_CLOSE(result.summary.residual, residual, 1e-9);
  EXPECT_GT(x.dot(y) / x.norm() / y.norm(), 0.8);
  EXPECT_GT(x.dot(y) / x.norm() / y.norm(), x.dot(b.col(0)) / x.norm() / b.col(0).norm());
}

TEST(LayeredInverse, WhatCannotBeDoneIsNamed) {
  const MlpHead large({10, 400, 1}, Activation::relu);
  const auto problem = random_problem({.rows = 20, .cols = 10});
  const Vector theta = random_vector(large.parameters(), 3, 0.1);
  EXPECT_ERROR((void)make_inverse_hessian(large, problem.rows(), theta,
                                          {.solver = Solver::cholesky}, {}),
               ErrorKind::unsupported, "use the solver cg");
  EXPECT_ERROR((void)make_inverse_hessian(large, problem.rows(), theta,
                                          {.solver = Solver::lissa, .lissa_scale = -1}, {}),
               ErrorKind::bad_option, "lissa_scale");
  EXPECT_EQ(parse_solver("kfac"), Solver::kfac);
}

}  // namespace
}  // namespace fmd
