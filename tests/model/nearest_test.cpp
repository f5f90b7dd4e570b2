#include "fmd/model/nearest.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;

// Every distance in double, sorted by distance, then row.
std::vector<std::pair<double, Index>> brute_force(const std::vector<float>& values,
                                                  Index cols, Index query,
                                                  const std::vector<Index>& among,
                                                  const NearestOptions& options) {
  std::vector<std::pair<double, Index>> all;
  for (const Index row : among) {
    if (options.skip_self && row == query) continue;
    double squared = 0, dot = 0, x2 = 0, y2 = 0;
    for (Index j = 0; j < cols; ++j) {
      const double x = values[static_cast<std::size_t>(query * cols + j)];
      const double y = values[static_cast<std::size_t>(row * cols + j)];
      squared += (x - y) * (x - y);
      dot += x * y;
      x2 += x * x;
      y2 += y * y;
    }
    const double lengths = std::sqrt(x2) * std::sqrt(y2);
    const double cosine = lengths > 0 ? dot / lengths : 0;
    all.emplace_back(options.distance == Distance::euclidean ? std::sqrt(squared)
                     : options.distance == Distance::cosine  ? 1 - cosine
                                                             : 1 - dot / options.scale,
                     row);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void expect_exact(const test::ProblemShape& shape, const std::vector<float>& values,
                  const Features& X, const NearestOptions& options) {
  std::vector<Index> queries, among;
  for (Index i = 0; i < shape.rows; ++i) (i % 3 == 0 ? queries : among).push_back(i);
  if (options.skip_self) among = queries;
  const Neighbours found =
      nearest({.X = &X, .y = {}, .weight = {}, .subset = queries},
              {.X = &X, .y = {}, .weight = {}, .subset = among}, options, {});
  ASSERT_EQ(found.queries(), std::ssize(queries));
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto expected = brute_force(values, shape.cols, queries[q], among, options);
    for (std::size_t k = 0; k < static_cast<std::size_t>(options.k); ++k) {
      const std::size_t at = q * static_cast<std::size_t>(options.k) + k;
      ASSERT_NEAR(found.distance[at], expected[k].first, 1e-12) << "query " << queries[q];
      // Last bits of the sums may order equal distances either way.
      if (k + 1 < expected.size() && expected[k + 1].first - expected[k].first > 1e-12 &&
          (k == 0 || expected[k].first - expected[k - 1].first > 1e-12)) {
        ASSERT_EQ(found.row[at], expected[k].second) << "query " << queries[q];
      }
    }
  }
}

TEST(Nearest, AgreesWithEveryDistanceInDouble) {
  for (const Distance distance : {Distance::euclidean, Distance::cosine}) {
    for (const bool sparse : {false, true}) {
      const test::ProblemShape shape{.rows = 1500, .cols = 7, .sparse = sparse, .seed = 3};
      const auto problem = random_problem(shape);
      for (const bool self : {false, true})
        expect_exact(shape, test::random_values(shape), *problem.X,
                     {.k = 5, .distance = distance, .skip_self = self});
    }
  }
}

// 64 kinds of rows at most: most rows have equals.
TEST(Nearest, EqualDistancesAreOrderedByRow) {
  const test::ProblemShape shape{.rows = 2500, .cols = 6, .ones = true, .seed = 5};
  const auto problem = random_problem(shape);
  const std::vector<float> values = test::random_values(shape);
  for (const bool self : {false, true}) {
    const Distance distance = self ? Distance::euclidean : Distance::overlap;
    const NearestOptions options{
        .k = 4, .distance = distance, .scale = 6, .skip_self = self};
    std::vector<Index> all(static_cast<std::size_t>(shape.rows));
    std::iota(all.begin(), all.end(), Index{0});
    const Neighbours found = nearest(problem.rows(), problem.rows(), options, {});
    for (Index q = 0; q < shape.rows; q += 7) {
      const auto expected = brute_force(values, shape.cols, q, all, options);
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t at = static_cast<std::size_t>(q) * 4 + k;
        ASSERT_EQ(found.row[at], expected[k].second);
        ASSERT_NEAR(found.distance[at], expected[k].first, 1e-15);
      }
    }
  }
}

// Far from the origin |x|^2 + |y|^2 - 2 x.y in float32 has no correct digit left.
TEST(Nearest, CancellationDoesNotDecide) {
  Rng rng(1, "far");
  const Index rows = 600, cols = 5;
  std::vector<float> values;
  for (Index i = 0; i < rows * cols; ++i)
    values.push_back(static_cast<float>(3000 + 0.01 * rng.normal()));
  const auto X = make_dense(values, rows, cols);
  expect_exact({.rows = rows, .cols = cols}, values, *X, {.k = 3});
}

TEST(Nearest, SameBitsForAnyNumberOfThreads) {
  const auto problem = random_problem({.rows = 5000, .cols = 9, .seed = 11});
  const NearestOptions options{.k = 3, .skip_self = true};
  const Neighbours one = nearest(problem.rows(), problem.rows(), options, {});
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const Neighbours many =
        nearest(problem.rows(), problem.rows(), options, {.pool = &pool});
    EXPECT_EQ(many.row, one.row);
    EXPECT_EQ(many.distance, one.distance);
  }
}

TEST(Nearest, FewerCandidatesThanNeighboursLeaveGaps) {
  const auto problem = random_problem({.rows = 4, .cols = 2});
  const std::vector<Index> two = {1, 3};
  const Neighbours found =
      nearest(problem.rows(), {problem.X.get(), {}, {}, two}, {.k = 3}, {});
  EXPECT_EQ(found.row[2], -1);
  EXPECT_TRUE(std::isinf(found.distance[2]));
  EXPECT_EQ(found.row[3], 1);  // row 1 is its own nearest
  EXPECT_EQ(found.distance[3], 0);
}

TEST(Nearest, WrongUseIsAnError) {
  const auto a = random_problem({.rows = 4, .cols = 2});
  const auto b = random_problem({.rows = 4, .cols = 3});
  EXPECT_THROW((void)nearest(a.rows(), b.rows(), {}, {}), Error);
  EXPECT_THROW((void)nearest(a.rows(), a.rows(), {.k = 0}, {}), Error);
  const std::vector<Index> down = {2, 1};
  EXPECT_THROW((void)nearest(a.rows(), {a.X.get(), {}, {}, down}, {}, {}), Error);
  const auto endless = make_dense({1, INFINITY}, 2, 1);
  const Rows rows{endless.get(), {}, {}, {}};
  EXPECT_THROW((void)nearest(rows, rows, {}, {}), Error);
}

}  // namespace
}  // namespace fmd
