#include "fmd/model/head.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/derivatives.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::numeric_gradient;
using test::random_problem;
using test::random_vector;

Vector flat(const Matrix& m) { return Eigen::Map<const Vector>(m.data(), m.size()); }

// ---- one row of logits
// ----------------------------------------------------------------------

TEST(Loss, ProbabilitiesSumToOneAndSurviveLargeLogits) {
  for (const double z : {0.0, 1.5, -40.0, 1000.0, -1000.0}) {
    std::vector<double> p(2);
    probabilities(std::vector{z}, p);
    EXPECT_CLOSE(p[0] + p[1], 1.0, 1e-15);
    EXPECT_TRUE(std::isfinite(p[0]) && std::isfinite(p[1]));
  }
  std::vector<double> p(3);
  probabilities(std::vector{1000.0, 0.0, -1000.0}, p);
  EXPECT_EQ(p, (std::vector{1.0, 0.0, 0.0}));
  probabilities(std::vector{2.0, 2.0, 2.0}, p);
  EXPECT_CLOSE(p, (std::vector{1.0 / 3, 1.0 / 3, 1.0 / 3}), 1e-15);
}

TEST(Loss, IsExactForLargeLogits) {
  EXPECT_EQ(log_loss(std::vector{1000.0}, 0), 1000);
  EXPECT_EQ(log_loss(std::vector{-1000.0}, 1), 1000);
  EXPECT_CLOSE(log_loss(std::vector{0.0}, 1), std::log(2.0), 1e-15);
  EXPECT_CLOSE(log_loss(std::vector{40.0}, 1), std::exp(-40.0), 1e-14);
  EXPECT_EQ(log_loss(std::vector{1000.0, 0.0, 0.0}, 1), 1000);
  EXPECT_CLOSE(log_loss(std::vector{40.0, 0.0}, 0), std::exp(-40.0), 1e-14);
}

TEST(Loss, GradientAndSlopeAgreeWithDifferences) {
  for (const Index outputs : {1, 2, 4}) {
    const Vector z = random_vector(outputs, 7);
    const auto n = static_cast<std::size_t>(outputs);
    for (std::int32_t y = 0; y < classes_of(outputs); ++y) {
      Vector dz(outputs);
      log_loss_gradient({z.data(), n}, y, {dz.data(), n});
      const auto loss = [&](const Vector& at) { return log_loss({at.data(), n}, y); };
      EXPECT_CLOSE(dz, numeric_gradient(loss, z), 1e-8);
    }
    const auto classes = static_cast<std::size_t>(classes_of(outputs));
    const auto p_of = [&](const Vector& at) -> Vector {
      Vector p(classes_of(outputs));
      probabilities({at.data(), n}, {p.data(), classes});
      return outputs == 1 ? Vector(p.tail(1)) : p;
    };
    const Vector u = random_vector(outputs, 8);
    Vector p(classes_of(outputs)), r(outputs);
    probabilities({z.data(), n}, {p.data(), classes});
    apply_softmax_slope({p.data(), classes}, {u.data(), n}, {r.data(), n});
    const Vector expected = (p_of(z + 1e-6 * u) - p_of(z - 1e-6 * u)) / 2e-6;
    EXPECT_CLOSE(r, expected, 1e-8);
  }
}

// ---- the head
// --------------------------------------------------------------------------------

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

TEST(Objective, HasTheSameBitsForAnyNumberOfThreads) {
  const auto problem = random_problem({.rows = 30000, .cols = 6, .classes = 3});
  const LinearHead head(6, 3);
  const Vector theta = random_vector(head.parameters(), 3);
  const auto one = objective(head, problem.rows(), theta, 0.1, 0, {});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const auto many = objective(head, problem.rows(), theta, 0.1, 0, {.pool = &pool});
    EXPECT_EQ(one.value, many.value);
    EXPECT_EQ(one.gradient, many.gradient);
  }
}

TEST(Objective, AWeightOfZeroRemovesTheRowAndItsLabel) {
  auto problem = random_problem({.rows = 40, .cols = 3, .weighted = true});
  const LinearHead head(3, 1);
  const Vector theta = random_vector(4, 3);
  problem.weight[5] = 0;
  problem.y[5] = -1;
  std::vector<Index> others;
  for (Index i = 0; i < 40; ++i)
    if (i != 5) others.push_back(i);
  Rows kept = problem.rows();
  kept.subset = others;
  const auto a = objective(head, problem.rows(), theta, 0.1, 40, {});
  const auto b = objective(head, kept, theta, 0.1, 40, {});
  EXPECT_CLOSE(a.value, b.value, 1e-14);
  EXPECT_CLOSE(a.gradient, b.gradient, 1e-13);
}

TEST(Objective, WrongUseIsNamed) {
  auto problem = random_problem({.rows = 40, .cols = 3});
  const LinearHead head(3, 1);
  EXPECT_ERROR(objective(head, problem.rows(), Vector::Zero(3), 0, 0, {}),
               ErrorKind::bad_shape, "theta has 3 entries, needs 4");
  EXPECT_ERROR(objective(head, problem.rows(), Vector::Zero(4), -1, 0, {}),
               ErrorKind::bad_option, "l2");
  EXPECT_ERROR(objective(LinearHead(4, 1), problem.rows(), Vector::Zero(5), 0, 0, {}),
               ErrorKind::bad_shape, "features");
  problem.y[7] = 2;
  EXPECT_ERROR(objective(head, problem.rows(), Vector::Zero(4), 0, 0, {}),
               ErrorKind::bad_data, "row 7 has label 2");
}

}  // namespace
}  // namespace fmd
