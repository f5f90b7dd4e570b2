#include "fmd/curvature/gauss_newton.h"

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/curvature/hessian.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/deep.h"
#include "support/derivatives.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::Deep;
using test::random_problem;
using test::random_vector;

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

}  // namespace
}  // namespace fmd
