#include <cmath>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/curvature/gauss_newton.h"
#include "fmd/curvature/hessian.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/model/mlp_head.h"
#include "support/close.h"
#include "support/derivatives.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;
using test::random_vector;

struct Deep {
  MlpHead head;
  test::Problem problem;
  Vector theta;

  explicit Deep(Activation activation, Index outputs = 3, Index rows = 1100)
      : head({4, 6, 5, outputs}, activation),
        problem(random_problem({.rows = rows,
                                .cols = 4,
                                .classes = std::max<Index>(2, outputs),
                                .weighted = true})),
        theta(random_vector(head.parameters(), 3, 0.6)) {}

  [[nodiscard]] GaussNewton product(GaussNewtonTerms terms, const Exec& exec = {}) const {
    return {head, problem.rows(), theta, terms, exec};
  }
};

// The matrix by hand: J by differences of the logits, S row by row.
Matrix gauss_newton_by_hand(const Deep& d, double l2) {
  Scratch scratch;
  const FeatureBlock block = d.problem.X->block(0, scratch);
  const Index outputs = d.head.outputs(), rows = block.rows;
  const auto logits = [&](const Vector& at) -> Vector {
    Matrix z;
    d.head.logits(block, at, z);
    return Eigen::Map<const Vector>(z.data(), z.size());
  };
  const Matrix J = test::numeric_jacobian(logits, d.theta);
  const Matrix p = all_probabilities(d.head, d.problem.rows(), d.theta, {});
  Matrix G = Matrix::Zero(d.theta.size(), d.theta.size());
  for (Index i = 0; i < rows; ++i) {
    const Matrix Ji = J.middleRows(i * outputs, outputs);
    Matrix S(outputs, outputs);
    if (outputs == 1) {
      S(0, 0) = p(i, 0) * p(i, 1);
    } else {
      S = -p.row(i).transpose() * p.row(i);
      S.diagonal() += p.row(i).transpose();
    }
    G +=
        d.problem.rows().weight_of(i) / static_cast<double>(rows) * Ji.transpose() * S * Ji;
  }
  const Vector ridge = ridge_gradient(d.head, Vector::Ones(d.theta.size()), l2);
  G.diagonal() += ridge;
  return G;
}

TEST(GaussNewton, IsTheMatrixByHand) {
  for (const Activation a : {Activation::relu, Activation::tanh, Activation::gelu}) {
    for (const Index outputs : {1, 3}) {
      const Deep d(a, outputs, 600);
      const Matrix expected = gauss_newton_by_hand(d, 0.01);
      EXPECT_CLOSE(d.product({.l2 = 0.01}).matrix(), expected, 1e-7);
      const Vector v = random_vector(d.theta.size(), 8);
      EXPECT_CLOSE(d.product({.l2 = 0.01, .damping = 2}).apply(v), expected * v + 2 * v,
                   1e-7);
    }
  }
}

TEST(GaussNewton, ExactProductsAreDifferencesOfTheGradient) {
  for (const Activation a : {Activation::relu, Activation::tanh, Activation::gelu}) {
    const Deep d(a);
    const Vector v = random_vector(d.theta.size(), 8).normalized();
    const auto gradient = [&](double t) -> Vector {
      return objective(d.head, d.problem.rows(), d.theta + t * v, 0.02, 0, {}).gradient;
    };
    const Vector expected = (gradient(1e-6) - gradient(-1e-6)) / 2e-6;
    EXPECT_CLOSE(d.product({.l2 = 0.02, .exact = true}).apply(v), expected,
                 a == Activation::relu ? 1e-3 : 1e-6);
    EXPECT_GT((d.product({.l2 = 0.02}).apply(v) - expected).norm(), 1e-2 * expected.norm());
  }
}

TEST(GaussNewton, IsTheHessianOfALinearHead) {
  const auto problem =
      random_problem({.rows = 5000, .cols = 6, .classes = 4, .sparse = true});
  const LinearHead head(6, 4);
  const Vector theta = random_vector(head.parameters(), 3, 0.4);
  const Matrix H = hessian(head, problem.rows(), theta, {.l2 = 0.1, .gauge = false}, {});
  for (const bool exact : {false, true})
    EXPECT_CLOSE(
        GaussNewton(head, problem.rows(), theta, {.l2 = 0.1, .exact = exact}, {}).matrix(),
        H, 1e-12);
}

TEST(GaussNewton, SameBitsForAnyNumberOfThreads) {
  const Deep d(Activation::gelu, 3, 9000);
  const Vector v = random_vector(d.theta.size(), 8);
  const Vector alone = d.product({}).apply(v);
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(d.product({}, Exec{.pool = &pool}).apply(v), alone);
  }
}

TEST(Spectrum, LanczosFindsTheLargestAndProbesTheMean) {
  const Deep d(Activation::tanh);
  const GaussNewton product = d.product({.l2 = 0.001});
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(product.matrix());
  const double largest = eigen.eigenvalues().maxCoeff(), mean = eigen.eigenvalues().mean();
  const Spectrum all = estimate_spectrum(product, 60, 200, 1);
  EXPECT_CLOSE(all.largest, largest, 1e-9);
  EXPECT_CLOSE(all.mean, mean, 0.1);
  const Spectrum few = estimate_spectrum(product, 12, 1, 1);
  EXPECT_LE(few.largest, largest * (1 + 1e-12));
  EXPECT_GE(few.largest, 0.95 * largest);
}

// Right-hand sides as gradients have them.
Matrix gradients(const Deep& d, Index count) {
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
    const Matrix b = gradients(d, 2);
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
  const InverseResult result = inverse->apply(gradients(d, 1));
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
  const Matrix b = gradients(d, 1);
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
