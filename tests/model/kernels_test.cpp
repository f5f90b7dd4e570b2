#include "model/kernels.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

std::vector<double> spread(Index count, double most) {
  Rng rng(3, "spread");
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) values.push_back(-most * std::exp(-35 * rng.uniform()));
  return values;
}

double ulps(double got, double expected) {
  const double next = std::nextafter(expected, std::numeric_limits<double>::infinity());
  return std::abs(got - expected) / (next - expected);
}

TEST(ExpKernel, IsWithinTwoUlpsOfTheLibrary) {
  auto values = spread(20001, 708);  // odd: the last ones take the short way
  const auto x = values;
  kernels::exp_nonpositive(values.data(), static_cast<Index>(values.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps(values[i], std::exp(x[i])), 2) << x[i];
}

TEST(ExpKernel, EndsAreExact) {
  std::vector<double> v = {0, -0.0, -1000, -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()};
  std::vector<double> far;  // what the powers of 2 cannot hold
  for (double x = -709; x > -1e300; x *= 1.7) far.push_back(x);
  kernels::exp_nonpositive(far.data(), static_cast<Index>(far.size()));
  for (const double e : far) EXPECT_EQ(e, 0);
  kernels::exp_nonpositive(v.data(), 5);
  EXPECT_EQ(v[0], 1);
  EXPECT_EQ(v[1], 1);
  EXPECT_EQ(v[2], 0);
  EXPECT_EQ(v[3], 0);
  EXPECT_TRUE(std::isnan(v[4]));
}

TEST(LogisticKernel, AgreesWithTheLibraryOnBothSides) {
  auto z = spread(5000, 708);  // exp is 0 beyond
  for (std::size_t i = 0; i < z.size(); i += 2) z[i] = -z[i];
  const auto n = static_cast<Index>(z.size());
  std::vector<double> sign(z.size(), 1.0), p(z.size()), q(z.size()), loss(z.size());
  for (std::size_t i = 0; i < z.size(); i += 3) sign[i] = -1;
  kernels::sigmoid(z.data(), n, p.data(), q.data());
  std::vector<double> p2(z.size());
  kernels::logistic_loss(z.data(), sign.data(), n, p2.data(), loss.data());
  EXPECT_EQ(p, p2);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double m = sign[i] * z[i];
    const double expected = std::log1p(std::exp(-std::abs(m))) + std::max(0.0, -m);
    ASSERT_LE(ulps(loss[i], expected), 8) << m;
    ASSERT_LE(ulps(p[i], z[i] < 0 ? std::exp(z[i]) / (1 + std::exp(z[i]))
                                  : 1 / (1 + std::exp(-z[i]))),
              8)
        << z[i];
    ASSERT_CLOSE(p[i] + q[i], 1.0, 1e-15);
  }
}

TEST(SoftmaxKernel, EveryCountOfOutputsAgreesWithTheDefinition) {
  Rng rng(6, "softmax");
  for (Index outputs = 2; outputs <= 21; ++outputs) {
    Matrix z(300, outputs), p(300, outputs), expected(300, outputs);
    for (double& value : z.reshaped()) value = 30 * rng.normal();
    kernels::softmax(z.data(), 300, outputs, p.data());
    for (Index i = 0; i < 300; ++i) {
      expected.row(i) = (z.row(i).array() - z.row(i).maxCoeff()).exp();
      expected.row(i) /= expected.row(i).sum();
    }
    ASSERT_CLOSE(p, expected, 1e-15);
    ASSERT_LE((p.array() / expected.array() - 1).abs().maxCoeff(), 1e-14);
  }
}

TEST(DenseKernels, EveryCountOfRowsFeaturesAndOutputsAgreesWithPlainLoops) {
  Rng rng(5, "kernels");
  for (const Index rows : {1, 2, 3, 5, 9}) {
    for (const Index d : {0, 1, 3, 4, 7, 8, 9, 33}) {
      for (const Index outputs : {1, 2, 3, 5, 7, 10, 11}) {
        std::vector<float> x(static_cast<std::size_t>(rows * d));
        for (float& value : x) value = static_cast<float>(rng.normal());
        Matrix theta(outputs, d + 1), h(rows, outputs);
        for (double& value : theta.reshaped()) value = rng.normal();
        for (double& value : h.reshaped()) value = rng.normal();
        Matrix X = Matrix::Ones(rows, d + 1);
        for (Index i = 0; i < rows; ++i)
          for (Index j = 0; j < d; ++j) X(i, j) = x[static_cast<std::size_t>(i * d + j)];

        Matrix z(rows, outputs);
        kernels::dense_logits(x.data(), rows, d, theta.data(), outputs, z.data());
        ASSERT_CLOSE(z, X * theta.transpose(), 1e-14);
        Matrix sum = theta;
        kernels::dense_vjp(x.data(), rows, d, h.data(), outputs, sum.data());
        ASSERT_CLOSE(sum, theta + h.transpose() * X, 1e-14);
      }
    }
  }
}

}  // namespace
}  // namespace fmd
