#include "fmd/model/linear_head.h"

#include <gtest/gtest.h>

#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/derivatives.h"
#include "support/flat.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::flat;
using test::numeric_gradient;
using test::random_problem;
using test::random_vector;

struct Case {
  Index classes, outputs;
  bool sparse, ones, weighted;
};

class HeadCases : public testing::TestWithParam<Case> {
 protected:
  Case c = GetParam();
  test::Problem problem = random_problem({.rows = 60,
                                          .cols = 5,
                                          .classes = c.classes,
                                          .sparse = c.sparse,
                                          .ones = c.ones,
                                          .weighted = c.weighted,
                                          .seed = 11});
  test::Problem dense = [this] {
    auto other = random_problem({.rows = 60, .cols = 5, .classes = c.classes});
    other.X = make_dense(
        test::random_values(
            {.rows = 60, .cols = 5, .sparse = c.sparse, .ones = c.ones, .seed = 11}),
        60, 5);
    other.y = problem.y;
    other.weight = problem.weight;
    return other;
  }();
  LinearHead head{5, c.outputs};
  Vector theta = random_vector(head.parameters(), 12, 0.5);
  Exec exec;
};

TEST_P(HeadCases, LogitsAreTheNaiveProduct) {
  const Matrix z = all_logits(head, problem.rows(), theta, exec);
  const auto values = test::random_values(
      {.rows = 60, .cols = 5, .sparse = c.sparse, .ones = c.ones, .seed = 11});
  Matrix expected(60, c.outputs);
  for (Index i = 0; i < 60; ++i) {
    for (Index k = 0; k < c.outputs; ++k) {
      double sum = theta[k * 6 + 5];
      for (Index j = 0; j < 5; ++j)
        sum += theta[k * 6 + j] *
               static_cast<double>(values[static_cast<std::size_t>(i * 5 + j)]);
      expected(i, k) = sum;
    }
  }
  EXPECT_CLOSE(z, expected, 1e-14);
}

TEST_P(HeadCases, BlockProbabilitiesAreThoseOfEachRow) {
  const Matrix z = all_logits(head, problem.rows(), theta, exec);
  const Matrix p = all_probabilities(head, problem.rows(), theta, exec);
  for (Index i = 0; i < z.rows(); ++i) {
    Vector expected(p.cols());
    probabilities({z.data() + i * z.cols(), static_cast<std::size_t>(z.cols())},
                  {expected.data(), static_cast<std::size_t>(p.cols())});
    EXPECT_CLOSE(p.row(i).transpose(), expected, 1e-15);
  }
}

TEST_P(HeadCases, ProductsAreThoseOfTheJacobian) {
  Scratch scratch;
  const auto block = problem.X->block(0, scratch);
  const auto logits = [&](const Vector& at) {
    Matrix z;
    head.logits(block, at, z);
    return flat(z);
  };
  const Matrix J = test::numeric_jacobian(logits, theta);
  const Vector v = random_vector(theta.size(), 13);
  Matrix u;
  head.jvp(block, theta, {}, v, u);
  EXPECT_CLOSE(flat(u), J * v, 1e-8);
  const Vector h = random_vector(60 * c.outputs, 14);
  Vector into = v;
  head.vjp(block, theta, {}, Eigen::Map<const Matrix>(h.data(), 60, c.outputs), into);
  EXPECT_CLOSE(into, v + J.transpose() * h, 1e-8);
}

TEST_P(HeadCases, GradientAgreesWithDifferences) {
  const Rows rows = problem.rows();
  const auto F = objective(head, rows, theta, 0.3, 80, exec);
  const auto value = [&](const Vector& at) {
    return objective(head, rows, at, 0.3, 80, exec).value;
  };
  EXPECT_CLOSE(F.gradient, numeric_gradient(value, theta), 1e-8);
}

TEST_P(HeadCases, ObjectiveIsTheNaiveSum) {
  const Rows rows = problem.rows();
  const Matrix z = all_logits(head, rows, theta, exec);
  double sum = 0, ridge = 0;
  for (Index i = 0; i < rows.size(); ++i)
    sum += rows.weight_of(i) *
           log_loss({z.data() + i * z.cols(), static_cast<std::size_t>(z.cols())},
                    rows.label(i));
  for (Index j = 0; j < theta.size(); ++j) ridge += j % 6 == 5 ? 0 : theta[j] * theta[j];
  EXPECT_CLOSE(objective(head, rows, theta, 0.3, 0, exec).value, sum / 60 + 0.15 * ridge,
               1e-13);
}

TEST_P(HeadCases, DenseAndSparseAgree) {
  const auto a = objective(head, problem.rows(), theta, 0.1, 0, exec);
  const auto b = objective(head, dense.rows(), theta, 0.1, 0, exec);
  EXPECT_CLOSE(a.value, b.value, 1e-13);
  EXPECT_CLOSE(a.gradient, b.gradient, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    All, HeadCases,
    testing::Values(Case{2, 1, false, false, false}, Case{2, 1, false, false, true},
                    Case{2, 1, true, false, true}, Case{2, 1, true, true, false},
                    Case{2, 2, false, false, true}, Case{4, 4, false, false, true},
                    Case{4, 4, true, false, false}, Case{3, 3, true, true, true}));

}  // namespace
}  // namespace fmd
