#include "fmd/model/match.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "fmd/model/whiten.h"
#include "fmd/model/without_columns.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;

struct Sides {
  std::vector<Index> queries, among;
};

Sides sides(Index rows) {
  Sides s;
  for (Index i = 0; i < rows; ++i) (i % 4 == 0 ? s.among : s.queries).push_back(i);
  return s;
}

// The definition: all pairs by distance, then the query's and the candidate's place.
std::vector<Index> greedy(const Rows& queries, const Rows& among,
                          const MatchOptions& options) {
  const Neighbours all = nearest(
      queries, among,
      {.k = among.size(), .distance = options.distance, .scale = options.scale}, {});
  struct Pair {
    double distance;
    Index query, row;
    auto operator<=>(const Pair&) const = default;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.row.size(); ++i)
    pairs.push_back({all.distance[i], static_cast<Index>(i) / all.k, all.row[i]});
  std::sort(pairs.begin(), pairs.end());
  std::vector<Index> partner(static_cast<std::size_t>(queries.size()), -1);
  std::map<Index, Index> used;
  for (const Pair& pair : pairs) {
    Index& mine = partner[static_cast<std::size_t>(pair.query)];
    if (mine >= 0 || used[pair.row] == options.reuse || pair.distance > options.caliper)
      continue;
    mine = pair.row;
    ++used[pair.row];
  }
  return partner;
}

TEST(MatchRows, IsTheGreedyMatchingOverAllPairs) {
  for (const bool ones : {false, true}) {  // ones: nearly all distances are tied
    const Index rows = 800;
    const auto problem = random_problem({.rows = rows, .cols = 5, .ones = ones, .seed = 2});
    const Sides s = sides(rows);
    const Rows queries{problem.X.get(), {}, {}, s.queries};
    const Rows among{problem.X.get(), {}, {}, s.among};
    for (const Index reuse : {1, 3, 5}) {
      for (const double caliper : {0.6, std::numeric_limits<double>::infinity()}) {
        const MatchOptions options{.reuse = reuse, .caliper = caliper};
        EXPECT_EQ(match_rows(queries, among, options, {}).partner,
                  greedy(queries, among, options))
            << "reuse " << reuse << ", caliper " << caliper << ", ones " << ones;
      }
    }
  }
}

TEST(MatchRows, NobodyServesMoreOftenThanAllowedAndTheRestIsToldWhy) {
  const Index rows = 400;
  const auto problem = random_problem({.rows = rows, .cols = 3, .seed = 4});
  const Sides s = sides(rows);  // 300 queries, 100 candidates
  const Rows queries{problem.X.get(), {}, {}, s.queries};
  const Rows among{problem.X.get(), {}, {}, s.among};
  const Matches matches = match_rows(queries, among, {.reuse = 2}, {});
  std::map<Index, Index> used;
  Index left_over = 0;
  for (std::size_t q = 0; q < matches.partner.size(); ++q) {
    if (matches.partner[q] >= 0) ++used[matches.partner[q]];
    left_over += matches.outcome[q] == MatchOutcome::used_up;
  }
  for (const auto& [row, times] : used) EXPECT_LE(times, 2);
  EXPECT_EQ(left_over, 100);  // 300 ask, 200 are served

  const Matches near = match_rows(queries, among, {.reuse = 0, .caliper = 0.3}, {});
  for (std::size_t q = 0; q < near.partner.size(); ++q) {
    EXPECT_EQ(near.partner[q] >= 0, near.distance[q] <= 0.3);
    if (near.partner[q] < 0) {
      EXPECT_EQ(near.outcome[q], MatchOutcome::too_far);
    }
  }
  const std::vector<Index> alone = {7};
  const Rows one{problem.X.get(), {}, {}, alone};
  EXPECT_EQ(match_rows(one, one, {.skip_self = true}, {}).outcome[0],
            MatchOutcome::no_candidate);
}

TEST(MatchRows, SameBitsForAnyNumberOfThreads) {
  const auto problem = random_problem({.rows = 3000, .cols = 6, .seed = 9});
  const Sides s = sides(3000);
  const Rows queries{problem.X.get(), {}, {}, s.queries};
  const Rows among{problem.X.get(), {}, {}, s.among};
  const Matches one = match_rows(queries, among, {}, {});
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const Matches many = match_rows(queries, among, {}, {.pool = &pool});
    EXPECT_EQ(many.partner, one.partner);
    EXPECT_EQ(many.distance, one.distance);
  }
}

std::vector<float> expanded(const Features& X) {
  Scratch scratch;
  const FeatureBlock block = X.block(0, scratch);
  return {block.dense, block.dense + block.rows * block.cols};
}

TEST(Whiten, WithinGroupsTheCovarianceIsTheIdentity) {
  Rng rng(1, "whiten");
  const Index rows = 3000, cols = 3;
  std::vector<float> values;
  std::vector<std::int32_t> group;
  for (Index i = 0; i < rows; ++i) {
    const auto g = static_cast<std::int32_t>(rng.below(3)) - 1;  // -1 is left out
    const double a = rng.normal(), b = rng.normal(), c = rng.normal();
    group.push_back(g);
    // A group's mean is no part of the spread within it.
    for (const double x : {5 * g + 2 * a, a + 0.5 * b, 30 * g + b - c})
      values.push_back(static_cast<float>(x));
  }
  const auto X = make_dense(values, rows, cols);
  const Whitened white = whiten(*X, group, {});
  EXPECT_EQ(white.ridge, 0);
  EXPECT_NEAR(white.spread, 3, 1e-9);
  const std::vector<float> z = expanded(*white.X);
  Matrix mean = Matrix::Zero(2, cols), S = Matrix::Zero(cols, cols);
  Vector n = Vector::Zero(2);
  const auto at = [&](Index i, Index j) {
    return static_cast<double>(z[static_cast<std::size_t>(i * cols + j)]);
  };
  for (Index i = 0; i < rows; ++i) {
    const std::int32_t g = group[static_cast<std::size_t>(i)];
    if (g < 0) continue;
    n[g] += 1;
    for (Index j = 0; j < cols; ++j) mean(g, j) += at(i, j);
  }
  for (Index g = 0; g < 2; ++g) mean.row(g) /= n[g];
  for (Index i = 0; i < rows; ++i) {
    const std::int32_t g = group[static_cast<std::size_t>(i)];
    if (g < 0) continue;
    for (Index j = 0; j < cols; ++j)
      for (Index k = 0; k < cols; ++k)
        S(j, k) += (at(i, j) - mean(g, j)) * (at(i, k) - mean(g, k));
  }
  S /= n.sum() - 2;
  EXPECT_LT((S - Matrix::Identity(cols, cols)).cwiseAbs().maxCoeff(), 1e-5);
}

TEST(Whiten, IndicatorsThatSumToOneNeedARidge) {
  Rng rng(2, "levels");
  std::vector<float> values;
  for (Index i = 0; i < 500; ++i) {
    const Index level = rng.below(3);
    for (Index k = 0; k < 3; ++k) values.push_back(k == level ? 1.0F : 0.0F);
    values.push_back(7);  // says nothing: left out
  }
  const auto X = make_dense(values, 500, 4);
  const Whitened white = whiten(*X, std::vector<std::int32_t>(500, 0), {});
  EXPECT_GT(white.ridge, 0);
  EXPECT_EQ(white.X->cols(), 3);
  EXPECT_NEAR(white.spread, 2, 1e-3);  // two free levels
}

TEST(WithoutColumns, TheOthersStay) {
  for (const bool sparse : {false, true}) {
    const test::ProblemShape shape{.rows = 5000, .cols = 4, .sparse = sparse};
    const auto problem = random_problem(shape);
    const std::vector<float> values = test::random_values(shape);
    const std::vector<Index> drop = {1};
    const auto rest = without_columns(*problem.X, drop, {});
    ASSERT_EQ(rest->cols(), 3);
    ASSERT_EQ(rest->rows(), 5000);
    // Distances in the rest are those of the three columns.
    const std::vector<Index> two = {17, 4999};
    const Rows rows{rest.get(), {}, {}, two};
    double squared = 0;
    for (const std::size_t j : {0U, 2U, 3U}) {
      const double d = static_cast<double>(values[17 * 4 + j]) - values[4999 * 4 + j];
      squared += d * d;
    }
    EXPECT_NEAR(nearest(rows, rows, {.skip_self = true}, {}).distance[0],
                std::sqrt(squared), 1e-12);
  }
}

}  // namespace
}  // namespace fmd
