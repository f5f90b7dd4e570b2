#include "fmd/metrics/bca.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "metrics/examples.h"
#include "support/close.h"

namespace fmd {
namespace {

// The jackknife row by row, as for several samples: a = sum_i sum_j (U_ij / n_i)^3 / (6
// (sum_i sum_j (U_ij / n_i)^2)^(3/2)), U_ij = (n_i - 1) (mean_i - theta_ij).
RC_GTEST_PROP(Bca, AccelerationIsThatOfTheRows, ()) {
  std::vector<Index> counts;
  for (int c = 0; c < 8; ++c) counts.push_back(*rc::gen::inRange<Index>(2, 12));
  const bool one = *rc::gen::arbitrary<bool>();
  const std::vector<int> stratum =
      one ? std::vector<int>{} : std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1};
  const auto statistic = [](const std::vector<Index>& t) {
    const auto real = [&](int k) { return static_cast<double>(t[static_cast<size_t>(k)]); };
    return real(0) / (real(0) + real(3)) - real(4) / (real(4) + real(7)) +
           real(1) / (real(1) + real(2));
  };
  double squares = 0, cubes = 0;
  for (const int s : one ? std::vector<int>{0} : std::vector<int>{0, 1}) {
    std::vector<double> theta;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (!stratum.empty() && stratum[c] != s) continue;
      for (Index row = 0; row < counts[c]; ++row) {
        std::vector<Index> without = counts;
        --without[c];
        theta.push_back(statistic(without));
      }
    }
    const auto n = static_cast<double>(theta.size());
    const double mean = std::accumulate(theta.begin(), theta.end(), 0.0) / n;
    for (const double t : theta) {
      const double u = (n - 1) * (mean - t) / n;
      squares += u * u;
      cubes += u * u * u;
    }
  }
  const double expected = cubes / (6 * std::pow(squares, 1.5));
  RC_ASSERT(std::abs(jackknife_acceleration(counts, stratum, statistic) - expected) <
            1e-12);
}

TEST(Bca, AccelerationOfAMeanIsThatOfItsJackknife) {
  // 0, 1, 1, 4, ... as counts of the values 0, 1, 4, 9.
  const std::vector<Index> counts{5, 3, 2, 1};
  const auto mean = [](const std::vector<Index>& t) {
    double sum = 0, rows = 0;
    for (std::size_t k = 0; k < t.size(); ++k) {
      sum += static_cast<double>(t[k]) * static_cast<double>(k * k);
      rows += static_cast<double>(t[k]);
    }
    return sum / rows;
  };
  double squares = 0, cubes = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const double x = static_cast<double>(k * k) - mean(counts);
    squares += static_cast<double>(counts[k]) * x * x;
    cubes += static_cast<double>(counts[k]) * x * x * x;
  }
  EXPECT_CLOSE(mean_acceleration(squares, cubes), jackknife_acceleration(counts, {}, mean),
               1e-12);
  EXPECT_EQ(mean_acceleration(0, 0), 0);
}

TEST(Bca, WithoutBiasAndAccelerationIsThePercentileInterval) {
  std::vector<double> replicates;
  for (int i = 0; i <= 1000; ++i) replicates.push_back(i / 1000.0);
  const Interval plain = percentile(0.5, replicates, 0.9);
  const Interval found = bca(0.5, replicates, 0, 0.9);
  EXPECT_NEAR(found.low, plain.low, 1e-12);
  EXPECT_NEAR(found.high, plain.high, 1e-12);
  EXPECT_GT(bca(0.5, replicates, 0.1, 0.9).high, plain.high);
  EXPECT_GT(bca(0.6, replicates, 0, 0.9).low, plain.low);
}

TEST(Bca, UndefinedEnds) {
  const auto no_ends = [](const Interval& i) {
    return std::isnan(i.low) && std::isnan(i.high);
  };
  EXPECT_TRUE(no_ends(bca(2, {0, 1}, 0, 0.9)));
  EXPECT_TRUE(no_ends(bca(0.5, {}, 0, 0.9)));
  EXPECT_TRUE(no_ends(bca(0.5, {0, 1, kUndefined, kUndefined, kUndefined}, 0, 0.9)));
  EXPECT_TRUE(no_ends(bca(0.5, {0, 1}, kUndefined, 0.9)));
  EXPECT_TRUE(no_ends(bca(kUndefined, {0, 1}, 0, 0.9)));
  EXPECT_ERROR(bca(0.5, {0, 1}, 0, 1), ErrorKind::bad_option, "confidence is 1");
  // One labelled positive: without it there is no tpr.
  const Confusion one{.tp = 1, .fp = 2, .tn = 3};
  const auto& tpr = *find_criterion("equal_opportunity_difference");
  EXPECT_TRUE(no_ends(bca_criterion(tpr, one, kP, 0.9, 100, {})));
  EXPECT_ERROR(bca_criterion(tpr, {.tp = 1.5}, kP, 0.9, 100, {}), ErrorKind::bad_option,
               "count is 1.5, must be a whole number");
}

TEST(Bca, OfCriteriaIsNearNewcombe) {
  for (const char* name : {"statistical_parity_difference", "equal_opportunity_difference",
                           "disparate_impact"}) {
    const CriterionInfo& info = *find_criterion(name);
    const Interval closed = criterion_interval(info, kU, kP, 0.95);
    const Interval found = bca_criterion(info, kU, kP, 0.95, 4000, {});
    EXPECT_EQ(found.value, closed.value) << name;
    EXPECT_NEAR(found.low, closed.low, 0.1 * (closed.high - closed.low)) << name;
    EXPECT_NEAR(found.high, closed.high, 0.1 * (closed.high - closed.low)) << name;
  }
  const Interval f1 =
      bca_criterion(*find_criterion("f1_difference"), kU, kP, 0.95, 2000, {});
  EXPECT_LT(f1.low, f1.value);
  EXPECT_GT(f1.high, f1.value);
}

TEST(Bca, OfAMeanCoversAndIsSkewedWithTheData) {
  Rng rng(4, "exponential");
  Vector x(300);
  for (double& v : x) v = -std::log(1 - rng.uniform());
  const Interval found = bca_mean(x, 0.95, 2000, {});
  const Interval plain = bootstrap_mean(x, 0.95, 2000, {});
  EXPECT_CLOSE(found.value, x.mean(), 1e-12);
  // A skew to the right moves both ends up.
  EXPECT_GT(found.low, plain.low);
  EXPECT_GT(found.high, plain.high);
  EXPECT_FALSE(bca_mean(Vector(), 0.95, 10, {}).defined());
}

}  // namespace
}  // namespace fmd
