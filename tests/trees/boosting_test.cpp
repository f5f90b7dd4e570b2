#include "fmd/influence/boosting.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

constexpr Index kRows = 300, kTrees = 12, kLeaves = 4;
constexpr double kEta = 0.3, kLambda = 1;

double sigma(double z) { return 1 / (1 + std::exp(-z)); }

// Rows in random leaves of every tree, and leaf values that boosting fits.
struct Problem {
  CsrRows csr;
  std::vector<std::int32_t> y;
  std::vector<float> weight;
  std::unique_ptr<Features> X;
  Vector theta;
  LinearHead head{
      kTrees * kLeaves,
      1,
      {.intercept = false, .output_of = std::vector<std::int32_t>(kTrees * kLeaves, 0)}};
  bool fitted_base = true;

  [[nodiscard]] std::int32_t leaf(Index i, Index t) const {
    return csr.column[static_cast<std::size_t>(i * kTrees + t)];
  }
  [[nodiscard]] double base(const std::vector<float>& w) const {
    if (!fitted_base) return 0;
    double all = 0, ones = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      all += static_cast<double>(w[i]);
      ones += static_cast<double>(w[i]) * y[i];
    }
    return std::log(ones / (all - ones));
  }
  // The recursion, written plainly. The base is added to the first tree's leaves.
  [[nodiscard]] Vector fit(const std::vector<float>& w) const {
    Vector values = Vector::Zero(kTrees * kLeaves);
    Vector z = Vector::Constant(kRows, base(w));
    for (Index t = 0; t < kTrees; ++t) {
      Vector G = Vector::Zero(values.size()), H = Vector::Constant(values.size(), kLambda);
      for (Index i = 0; i < kRows; ++i) {
        const double p = sigma(z[i]),
                     wi = static_cast<double>(w[static_cast<std::size_t>(i)]);
        G[leaf(i, t)] += wi * (p - y[static_cast<std::size_t>(i)]);
        H[leaf(i, t)] += wi * p * (1 - p);
      }
      for (Index l = t * kLeaves; l < (t + 1) * kLeaves; ++l)
        values[l] = -kEta * G[l] / H[l];
      for (Index i = 0; i < kRows; ++i) z[i] += values[leaf(i, t)];
    }
    values.head(kLeaves).array() += base(w);
    return values;
  }
  [[nodiscard]] Rows rows() const {
    return {.X = X.get(), .y = y, .weight = weight, .subset = {}};
  }
};

Problem make_problem(bool fitted_base) {
  Problem problem;
  problem.fitted_base = fitted_base;
  Rng rng(5, "boosting");
  problem.csr.cols = kTrees * kLeaves;
  for (Index i = 0; i < kRows; ++i) {
    const auto kind = static_cast<Index>(rng.below(kLeaves));
    for (Index t = 0; t < kTrees; ++t) {
      const auto own = rng.below(3) == 0 ? static_cast<Index>(rng.below(kLeaves)) : kind;
      problem.csr.column.push_back(static_cast<std::int32_t>(t * kLeaves + own));
    }
    problem.csr.start.push_back(static_cast<Index>(problem.csr.column.size()));
    problem.y.push_back(static_cast<Index>(rng.below(6)) < 1 + kind ? 1 : 0);
    problem.weight.push_back(rng.below(2) == 0 ? 1.0F : 2.0F);
  }
  problem.X = make_sparse(problem.csr);
  problem.theta = problem.fit(problem.weight);
  return problem;
}

}  // namespace

TEST(Boosting, RatesAreFoundAndTheRefitGivesTheLeafValues) {
  for (const bool base : {false, true}) {
    const Problem problem = make_problem(base);
    const Boosting boosting(problem.head, problem.rows(), problem.theta);
    EXPECT_NEAR(boosting.eta(), kEta, 1e-9);
    EXPECT_NEAR(boosting.lambda(), kLambda, 1e-7);
    EXPECT_LT(boosting.residual(), 1e-10);
    EXPECT_EQ(boosting.base_fitted(), base);
    const std::vector<Index> without = {3, 77};
    std::vector<float> weight = problem.weight;
    weight[3] = weight[77] = 0;
    EXPECT_CLOSE(boosting.refit(without), problem.fit(weight), 1e-9);
  }
}

TEST(Boosting, ChangesAreTheDerivativesOfTheRecursion) {
  for (const bool base : {false, true}) {
    const Problem problem = make_problem(base);
    const Boosting boosting(problem.head, problem.rows(), problem.theta);
    Matrix gradients(problem.theta.size(), 2);
    Rng rng(9, "gradients");
    for (Index j = 0; j < gradients.size(); ++j)
      gradients.data()[j] = static_cast<double>(rng.below(2000)) / 1000 - 1;
    // dB/db is that of the first tree's leaves, since every row is in one of them.
    const Matrix change = boosting.changes(gradients);
    for (const Index k : {Index{0}, Index{17}, Index{123}, Index{299}}) {
      const auto at = static_cast<std::size_t>(k);
      std::vector<float> more = problem.weight, less = problem.weight;
      const float step = 0.015625F;
      more[at] += step;
      less[at] -= step;
      const Vector slope =
          (problem.fit(more) - problem.fit(less)) / (2 * static_cast<double>(step));
      for (Index j = 0; j < 2; ++j) {
        const double want =
            -static_cast<double>(problem.weight[at]) * gradients.col(j).dot(slope);
        EXPECT_NEAR(change(k, j), want, 2e-6 + 1e-4 * std::abs(want));
      }
    }
  }
}

TEST(Boosting, OtherLeafValuesAreOutsideTheDomain) {
  Problem problem = make_problem(true);
  problem.theta[7] += 0.5;
  EXPECT_ERROR(Boosting(problem.head, problem.rows(), problem.theta),
               ErrorKind::unsupported, "not those of plain boosting");
}

}  // namespace fmd
