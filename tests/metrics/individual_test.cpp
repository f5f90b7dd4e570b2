// Agreement with scikit-learn's neighbours and AIF360's definition:
// tools/golden/neighbours.py.
#include "fmd/metrics/individual.h"

#include <fstream>

#include <Eigen/LU>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;

Scored decided(const std::vector<std::int32_t>& decision) {
  Scored scored;
  scored.p = Matrix::Zero(std::ssize(decision), 2);
  scored.decision = decision;
  scored.favorable = 1;
  return scored;
}

struct Case {
  std::unique_ptr<Features> X;
  Scored scored;
  json expected;
};

Case golden() {
  std::ifstream file(FMD_TEST_DIR "/golden/neighbours.json");
  Case c;
  c.expected = json::parse(file);
  std::vector<float> values;
  for (const double value : c.expected["X"]) values.push_back(static_cast<float>(value));
  const Index rows = std::ssize(c.expected["decision"]);
  c.X = make_dense(values, rows, std::ssize(values) / rows);
  c.scored = decided(c.expected["decision"].get<std::vector<std::int32_t>>());
  return c;
}

TEST(Consistency, IsThatOfAif360) {
  const Case c = golden();
  const Rows rows{c.X.get(), {}, {}, {}};
  for (const Index k : {1, 5, 9}) {
    const Interval found =
        consistency(c.scored, nearest(rows, rows, {.k = k}, {}), 0.95, 200, {});
    EXPECT_CLOSE(found.value, c.expected["consistency"][std::to_string(k)].get<double>(),
                 1e-12);
    EXPECT_LE(found.low, found.value);
    EXPECT_GE(found.high, found.value);
  }
}

TEST(FlipTest, IsThatOfClarify) {
  const Case c = golden();
  const auto group = c.expected["group"].get<std::vector<int>>();
  std::vector<Index> rows, others;
  for (std::size_t i = 0; i < group.size(); ++i)
    (group[i] == 0 ? rows : others).push_back(static_cast<Index>(i));
  const Neighbours near =
      nearest({c.X.get(), {}, {}, rows}, {c.X.get(), {}, {}, others}, {.k = 5}, {});
  EXPECT_CLOSE(flip_test(c.scored, rows, near, 0.95, 200, {}).value,
               c.expected["flip_test"].get<double>(), 1e-12);
}

TEST(Consistency, AllAlikeIsOneAndSizesMustFit) {
  const auto X = make_dense({0, 1, 2, 3}, 4, 1);
  const Rows rows{X.get(), {}, {}, {}};
  const Neighbours near = nearest(rows, rows, {.k = 2}, {});
  EXPECT_EQ(consistency(decided({1, 1, 1, 1}), near, 0.95, 50, {}).value, 1);
  // Each has itself and one other row: 0-1, 1-0 (ties by row), 2-1, 3-2.
  EXPECT_EQ(consistency(decided({1, 0, 0, 0}), near, 0.95, 50, {}).value, 1 - 0.25);
  EXPECT_THROW((void)consistency(decided({1, 1}), near, 0.95, 50, {}), Error);
}

// Against the covariance's inverse, formed.
TEST(SampleDistortion, IsTheMeanDistanceOfPairs) {
  constexpr Index n = 200, d = 3;
  Rng rng(5, "distortion");
  std::vector<float> c, cbar;
  for (Index i = 0; i < n * d; ++i) {
    c.push_back(static_cast<float>(rng.normal() * (i % d == 0 ? 10 : 1)));
    cbar.push_back(c.back() + static_cast<float>(0.5 * rng.normal()));
  }
  Matrix both(2 * n, d);
  for (Index i = 0; i < n * d; ++i) {
    const auto at = static_cast<std::size_t>(i);
    both(i / d, i % d) = static_cast<double>(c[at]);
    both(n + i / d, i % d) = static_cast<double>(cbar[at]);
  }
  const auto C = make_dense(c, n, d), Cbar = make_dense(cbar, n, d);
  PairSet pairs;
  pairs.c.X = C.get();
  pairs.cbar.X = Cbar.get();
  for (Index i = 0; i < n; ++i) {
    pairs.unit.push_back(i / 2);  // two pairs a row
    pairs.weight.push_back(0.5F);
  }
  const Eigen::RowVectorXd mean = both.colwise().mean();
  const Matrix centred = both.rowwise() - mean;
  const Eigen::Matrix3d covariance = centred.transpose() * centred / (2 * n - 1);
  const Eigen::Matrix3d inverse = covariance.inverse();
  double euclidean = 0, manhattan = 0, mahalanobis = 0;
  for (Index i = 0; i < n; ++i) {
    const Eigen::Vector3d change = (both.row(i) - both.row(n + i)).transpose();
    euclidean += change.norm() / n;
    manhattan += change.lpNorm<1>() / n;
    mahalanobis += std::sqrt(change.dot(inverse * change)) / n;
  }
  const Distortion found = sample_distortion(pairs, 0.95, 500, {});
  EXPECT_NEAR(found.euclidean.value, euclidean, 1e-6);
  EXPECT_NEAR(found.manhattan.value, manhattan, 1e-6);
  EXPECT_NEAR(found.mahalanobis.value, mahalanobis, 1e-3 * mahalanobis);
  EXPECT_LT(found.euclidean.low, euclidean);
  EXPECT_GT(found.euclidean.high, euclidean);
  EXPECT_TRUE(found.reason.empty());
}

TEST(SampleDistortion, SaysWhyThereIsNoCovariance) {
  const auto C = make_dense({1, 1, 1}, 3, 1), Cbar = make_dense({1, 1, 1}, 3, 1);
  PairSet pairs;
  pairs.c.X = C.get();
  pairs.cbar.X = Cbar.get();
  pairs.unit = {0, 1, 2};
  pairs.weight = {1, 1, 1};
  const Distortion found = sample_distortion(pairs, 0.95, 100, {});
  EXPECT_EQ(found.euclidean.value, 0);
  EXPECT_FALSE(found.mahalanobis.defined());
  EXPECT_FALSE(found.reason.empty());
}

}  // namespace
}  // namespace fmd
