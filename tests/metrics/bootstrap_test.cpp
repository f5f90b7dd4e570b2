#include "fmd/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/interval.h"
#include "support/close.h"

namespace fmd {
namespace {

Matrix normal_rows(Index rows, Index cols, std::uint64_t seed) {
  Rng rng(seed, "rows");
  Matrix m(rows, cols);
  for (double& x : m.reshaped()) x = rng.normal();
  return m;
}

Matrix reordered(const Matrix& m, std::uint64_t seed) {
  Rng rng(seed, "order");
  const std::vector<Index> order = permutation(m.rows(), rng);
  Matrix result(m.rows(), m.cols());
  for (Index i = 0; i < m.rows(); ++i)
    result.row(i) = m.row(order[static_cast<std::size_t>(i)]);
  return result;
}

// Mean and variance over the replicates of one column.
std::pair<double, double> moments(const Matrix& sums, Index column) {
  const double mean = sums.col(column).mean();
  return {mean, (sums.col(column).array() - mean).square().mean()};
}

TEST(BootstrapSums, EveryReplicateDrawsAsManyRowsAsThereAre) {
  for (const Index rows : {1, 2, 3, 100, 2048, 5001}) {
    const Matrix ones = Matrix::Ones(rows, 1);
    const Matrix sums = bootstrap_sums(ones, 37, {});
    ASSERT_EQ(sums.rows(), 37);
    for (Index r = 0; r < sums.rows(); ++r)
      EXPECT_EQ(sums(r, 0), static_cast<double>(rows));
  }
}

TEST(BootstrapSums, DrawsRowsWithReplacementAndEvenly) {
  // Row i has bit i: of four rows the counts of each replicate can be read off.
  Matrix bits = Matrix::Identity(4, 4);
  const Index replicates = 20000;
  const Matrix counts = bootstrap_sums(bits, replicates, {});
  std::set<double> seen(counts.data(), counts.data() + counts.size());
  EXPECT_EQ(seen, (std::set<double>{0, 1, 2, 3, 4}));
  for (Index i = 0; i < 4; ++i) {
    const auto [mean, variance] = moments(counts, i);
    EXPECT_NEAR(mean, 1, 0.03);         // 5 standard errors
    EXPECT_NEAR(variance, 0.75, 0.05);  // 4 x 1/4 x 3/4
  }
  const double all_one = static_cast<double>((counts.array() == 1).rowwise().all().count());
  EXPECT_NEAR(all_one / static_cast<double>(replicates), 24.0 / 256, 0.011);
}

TEST(BootstrapSums, ColumnsShareTheDraws) {
  Matrix m = normal_rows(300, 2, 1);
  m.col(1) = 3 * m.col(0);
  const Matrix sums = bootstrap_sums(m, 50, {});
  EXPECT_CLOSE(sums.col(1), 3 * sums.col(0), 1e-13);
}

TEST(BootstrapSums, TheSeedDecidesAndReplicatesDiffer) {
  const Matrix m = normal_rows(300, 1, 1);
  const Matrix one = bootstrap_sums(m, 50, {.seed = 1});
  EXPECT_EQ(one, bootstrap_sums(m, 50, {.seed = 1}));
  EXPECT_NE(one, bootstrap_sums(m, 50, {.seed = 2}));
  EXPECT_NE(one(0, 0), one(1, 0));
  EXPECT_EQ(one.topRows(20), bootstrap_sums(m, 20, {.seed = 1}));
}

TEST(BootstrapSums, ThreadsDoNotChangeABit) {
  const Matrix m = normal_rows(5000, 3, 2);
  const Matrix alone = bootstrap_sums(m, 70, {});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(bootstrap_sums(m, 70, {.pool = &pool}), alone) << threads << " threads";
  }
}

RC_GTEST_PROP(BootstrapSums, TheOrderOfRowsDoesNotMatter, ()) {
  const auto rows = *rc::gen::inRange<Index>(1, 60);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Matrix m = normal_rows(rows, 2, seed);
  RC_ASSERT(bootstrap_sums(m, 8, {}) == bootstrap_sums(reordered(m, seed), 8, {}));
}

TEST(BootstrapSums, ManyRowsKeepMeanAndCovariance) {
  const Index rows = 250'000;
  Matrix m = normal_rows(rows, 3, 3);
  m.col(1) += m.col(0);
  m.col(2).setConstant(1);
  const Index replicates = 20000;
  const Matrix sums = bootstrap_sums(m, replicates, {});
  const double n = static_cast<double>(rows);
  for (Index j = 0; j < 2; ++j) {
    const auto [mean, variance] = moments(sums, j);
    const double expected = (m.col(j).array() - m.col(j).mean()).square().sum();
    EXPECT_NEAR(mean, m.col(j).sum(),
                5 * std::sqrt(expected / static_cast<double>(replicates)));
    EXPECT_CLOSE(variance, expected, 0.05);
  }
  const double covariance = ((sums.col(0).array() - sums.col(0).mean()) *
                             (sums.col(1).array() - sums.col(1).mean()))
                                .mean();
  EXPECT_CLOSE(covariance, n, 0.05);
  EXPECT_CLOSE(sums.col(2), Vector::Constant(replicates, n), 1e-12);
}

TEST(BootstrapSums, RareRowsAreDrawnOneByOneHoweverManyThereAre) {
  Matrix m = Matrix::Zero(200'001, 1);
  m(5, 0) = m(77, 0) = 1;
  const Matrix sums = bootstrap_sums(m, 200, {});
  Index zero = 0;
  for (const double x : sums.reshaped()) {
    EXPECT_EQ(x, std::round(x));
    zero += x == 0;
  }
  EXPECT_NEAR(static_cast<double>(zero), 200 * std::exp(-2), 24);  // Poisson with mean 2
}

// Above 4,096 rows most draws are normal: the quantiles stay those of drawing row by row.
TEST(BootstrapSums, ManyRowsKeepTheQuantilesOfPlainDraws) {
  const Index rows = 6000, replicates = 4000;
  Rng rng(5, "rows");
  Matrix m(rows, 3);
  for (Index i = 0; i < rows; ++i) {
    const double size = std::exp(1.5 * rng.normal());  // skewed
    m.row(i) << size, rng.uniform() < 0.01 ? 1 : 0, i == 0 ? 50 * size : -size;
  }
  const Matrix sums = bootstrap_sums(m, replicates, {});
  Matrix plain = Matrix::Zero(replicates, 3);
  for (Index r = 0; r < replicates; ++r)
    for (Index k = 0; k < rows; ++k) plain.row(r) += m.row(rng.below(rows));
  for (Index j = 0; j < 3; ++j) {
    Vector a = sums.col(j), b = plain.col(j);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    const double deviation = std::sqrt(moments(plain, j).second);
    for (const Index share : {25, 100, 500, 900, 975})
      EXPECT_NEAR(a(share * replicates / 1000), b(share * replicates / 1000),
                  0.15 * deviation)
          << "column " << j << ", quantile " << share;
  }
}

TEST(BootstrapSums, SortedRowsOfManyGiveTheSameBits) {
  const Matrix m = normal_rows(5000, 2, 8).array().exp();
  EXPECT_EQ(bootstrap_sums(m, 8, {}), bootstrap_sums(reordered(m, 4), 8, {}));
}

TEST(BootstrapSums, NoRowsAndNoReplicates) {
  EXPECT_EQ(bootstrap_sums(Matrix(0, 2), 3, {}), Matrix::Zero(3, 2));
  EXPECT_EQ(bootstrap_sums(Matrix::Ones(4, 2), 0, {}).rows(), 0);
  EXPECT_ERROR(bootstrap_sums(Matrix::Ones(4, 2), -1, {}), ErrorKind::bad_option,
               "replicates is -1");
}

TEST(BootstrapMean, OfEqualValuesHasNoWidth) {
  const Interval same = bootstrap_mean(Vector::Constant(50, 0.25), 0.95, 100, {});
  EXPECT_CLOSE(same.value, 0.25, 1e-14);
  EXPECT_CLOSE(same.low, 0.25, 1e-14);
  EXPECT_CLOSE(same.high, 0.25, 1e-14);
  EXPECT_FALSE(bootstrap_mean(Vector(0), 0.95, 100, {}).defined());
}

TEST(BootstrapMean, HasTheWidthOfTheStandardError) {
  const Vector x = normal_rows(2000, 1, 5).col(0);
  const Interval interval = bootstrap_mean(x, 0.95, 4000, {});
  const double error = std::sqrt((x.array() - x.mean()).square().mean() / 2000);
  EXPECT_CLOSE(interval.low, x.mean() - 1.96 * error,
               0.1 * error / std::abs(x.mean()) + 0.05);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * error, 0.3 * error);
}

TEST(BootstrapCounts, KeepsTotalsAndEmptyCells) {
  const std::vector<Index> counts{700, 0, 250, 50};
  Vector mean = Vector::Zero(4);
  const auto tables = bootstrap_counts(counts, 4000, {});
  ASSERT_EQ(tables.size(), 4000);
  for (Index r = 0; r < tables.size(); ++r) {
    const auto table = tables[r];
    ASSERT_EQ(table.size(), 4u);
    EXPECT_EQ(table[0] + table[1] + table[2] + table[3], 1000);
    EXPECT_EQ(table[1], 0);
    for (Index k = 0; k < 4; ++k)
      mean(k) += static_cast<double>(table[static_cast<std::size_t>(k)]) / 4000;
  }
  for (const Index k : {0, 2, 3}) {
    const double share = static_cast<double>(counts[static_cast<std::size_t>(k)]) / 1000;
    EXPECT_NEAR(mean(k), 1000 * share, 5 * std::sqrt(1000 * share * (1 - share) / 4000));
  }
}

TEST(BootstrapCounts, AreTheMultinomialNumbersOfEachStream) {
  for (const std::vector<Index>& counts :
       {std::vector<Index>{3120, 411, 902, 77, 2811, 1205, 640, 834},
        {5, 0, 3, 1'000'000, 40, 0},
        {0, 0, 7},
        {1'000'000'000'000, 3, 2'000'000'000'000}}) {
    Index total = 0;
    for (const Index n : counts) total += n;
    const auto tables = bootstrap_counts(counts, 700, {.seed = 5});
    for (Index r = 0; r < 700; ++r) {
      Rng rng(5, "bootstrap counts", static_cast<std::uint64_t>(r));
      std::vector<Index> expected;
      rng.multinomial(total, std::vector<double>(counts.begin(), counts.end()), expected);
      const auto table = tables[r];
      ASSERT_EQ(std::vector<Index>(table.begin(), table.end()), expected) << r;
    }
  }
}

TEST(BootstrapCounts, HaveTheChiSquareOfMultinomialTables) {
  const std::vector<Index> counts{3120, 411, 902, 77, 2811, 1205, 640, 834};
  const Index replicates = 20000;
  const auto tables = bootstrap_counts(counts, replicates, {});
  // Pearson's statistic of each table has mean 7 and variance 14 + (sum n/m - 78) / n.
  double sum = 0, squares = 0, variance = 14, total = 0;
  for (const Index n : counts) total += static_cast<double>(n);
  for (const Index n : counts) variance += 1 / static_cast<double>(n);
  variance -= (64 + 2 * 8 - 2) / total;
  std::vector<Index> below(10, 0);  // tenths of the chi-square distribution with 7 degrees
  const double tenths[] = {2.83311, 3.82232, 4.67133, 5.49323, 6.34581,
                           7.28321, 8.38343, 9.80325, 12.01704};
  for (Index r = 0; r < replicates; ++r) {
    double x = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const double m = static_cast<double>(counts[k]),
                   d = static_cast<double>(tables[r][k]) - m;
      x += d * d / m;
    }
    sum += x;
    squares += x * x;
    ++below[static_cast<std::size_t>(std::upper_bound(tenths, tenths + 9, x) - tenths)];
  }
  const double mean = sum / static_cast<double>(replicates);
  EXPECT_NEAR(mean, 7, 4 * std::sqrt(14.0 / static_cast<double>(replicates)));
  EXPECT_NEAR(squares / static_cast<double>(replicates) - mean * mean, variance, 0.8);
  double chi_square = 0;
  for (const Index n : below) {
    const double d = static_cast<double>(n) - 0.1 * static_cast<double>(replicates);
    chi_square += d * d / (0.1 * static_cast<double>(replicates));
  }
  EXPECT_LT(chi_square, 27.9);  // 99.9 % of 9 degrees of freedom
}

TEST(BootstrapCounts, SpreadsAsResampledRowsDo) {
  const auto tables = bootstrap_counts({30, 70}, 20000, {});
  Matrix rows = Matrix::Zero(100, 1);
  rows.topRows(30).setOnes();
  const Matrix sums = bootstrap_sums(rows, 20000, {});
  Matrix counts(20000, 1);
  for (Index r = 0; r < 20000; ++r) counts(r, 0) = static_cast<double>(tables[r][0]);
  EXPECT_NEAR(moments(counts, 0).first, moments(sums, 0).first, 0.25);
  EXPECT_CLOSE(moments(counts, 0).second, moments(sums, 0).second, 0.07);
}

TEST(BootstrapCounts, ThreadsDoNotChangeThem) {
  const auto alone = bootstrap_counts({3, 40, 500}, 64, {});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(bootstrap_counts({3, 40, 500}, 64, {.pool = &pool}), alone);
  }
  EXPECT_ERROR(bootstrap_counts({3, -1}, 5, {}), ErrorKind::bad_option, "counts is -1");
}

TEST(StratifiedBootstrap, KeepsTheSizeOfEveryStratum) {
  const std::vector<Index> counts{10, 20, 0, 5, 7, 0};
  const std::vector<int> stratum{4, 4, 4, -1, -1, 2};
  const auto tables = bootstrap_counts(counts, stratum, 4000, {});
  double first = 0;
  for (const auto& t : tables) {
    ASSERT_EQ(t[0] + t[1] + t[2], 30);
    ASSERT_EQ(t[3] + t[4], 12);
    ASSERT_EQ(t[2] + t[5], 0);
    first += static_cast<double>(t[0]) / 4000;
  }
  EXPECT_NEAR(first, 10, 5 * std::sqrt(30.0 / 3 * 2 / 3 / 4000));
  ThreadPool pool(3);
  EXPECT_EQ(bootstrap_counts(counts, stratum, 100, {.pool = &pool}),
            bootstrap_counts(counts, stratum, 100, {}));
  EXPECT_NE(bootstrap_counts(counts, stratum, 100, {.seed = 2}),
            bootstrap_counts(counts, stratum, 100, {}));
  EXPECT_ERROR(bootstrap_counts(counts, {1}, 5, {}), ErrorKind::bad_shape, "stratum");
  EXPECT_ERROR(bootstrap_counts({-1}, {1}, 5, {}), ErrorKind::bad_option, "counts is -1");
}

TEST(BootstrapSlow, IntervalsCoverTheTruthAsOftenAsTheySay) {
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Vector x = normal_rows(200, 1, seed).col(0);
    const Interval interval = bootstrap_mean(x, 0.95, 1000, {.seed = seed});
    covered += interval.low <= 0 && 0 <= interval.high;
  }
  EXPECT_GE(covered, 270);
  EXPECT_LE(covered, 297);
}

}  // namespace
}  // namespace fmd
