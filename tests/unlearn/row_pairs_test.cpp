#include "unlearn/row_pairs.h"

#include <gtest/gtest.h>

#include "support/close.h"
#include "unlearn/solve_cases.h"
#include "unlearn/solve_problem.h"

namespace fmd {
namespace {

using namespace test;

SolveOptions weights(double anchor, double lambda) {
  return {.anchor = anchor, .lambda = lambda, .mu = 0.2, .gaps = {}};
}

// With max_dense = 0 pairs are taken one by one.
SolveOptions one_by_one(SolveOptions options) {
  options.max_dense = 0;
  return options;
}

std::vector<ProblemShape> one_output() {
  std::vector<ProblemShape> all;
  for (const bool sparse : {false, true})
    for (const double size : {1.0, 30.0})  // 30: scores that are 0 or 1
      all.push_back({.rows = 300, .outputs = 1, .sparse = sparse, .sets = 2, .size = size});
  return all;
}

TEST(RowPairs, AreMadeForOneOutput) {
  for (const ProblemShape& shape : one_output()) {
    const SmallProblem p = small_problem(shape);
    EXPECT_NE(RowPairs::make(p.head, p.theta0, p.rows, p.pairs, true, {}), nullptr);
  }
  const SmallProblem three = small_problem({.outputs = 3});
  EXPECT_EQ(RowPairs::make(three.head, three.theta0, three.rows, three.pairs, true, {}),
            nullptr);
}

TEST(RowPairs, GiveTheSameAsPairsOneByOne) {
  const Exec exec;
  for (const ProblemShape& shape : one_output()) {
    const SmallProblem p = small_problem(shape);
    for (const SolveOptions& options :
         {weights(1.3, 0), weights(0, 2.1), weights(0.7, 50)}) {
      const SolveOptions plain = one_by_one(options);
      const SolveProblem by_row(p.head, p.theta0, p.rows, p.pairs, options, exec);
      const SolveProblem by_pair(p.head, p.theta0, p.rows, p.pairs, plain, exec);
      for (const double by : {1e-4, 0.3}) {
        const auto a = by_row.at(moved(p.theta0, by));
        const auto b = by_pair.at(moved(p.theta0, by));
        EXPECT_GT(a.by_row.p.size(), 0);
        EXPECT_EQ(b.by_row.p.size(), 0);
        EXPECT_CLOSE(a.value, b.value, 1e-9);
        EXPECT_CLOSE(a.gradient, b.gradient, 1e-9);
        const Vector v = moved(Vector::Zero(p.dim()), 1);
        for (const bool exact : {false, true})
          EXPECT_CLOSE(by_row.product(a, v, 1.7, exact), by_pair.product(b, v, 1.7, exact),
                       1e-9);
        const auto one = by_row.curvature(a), other = by_pair.curvature(b);
        EXPECT_CLOSE(one.hold, other.hold, 1e-9);
        EXPECT_CLOSE(one.pull, other.pull, 1e-9);
      }
    }
  }
}

// 9,000 rows are several blocks.
TEST(RowPairs, GiveTheSameBitsForAnyNumberOfThreads) {
  ThreadPool pool(3);
  const Exec alone, together{.pool = &pool};
  for (const bool sparse : {false, true}) {
    const SmallProblem p =
        small_problem({.rows = 9000, .outputs = 1, .sparse = sparse, .sets = 1});
    const SolveOptions options = weights(1, 3);
    const SolveProblem first(p.head, p.theta0, p.rows, p.pairs, options, alone);
    const SolveProblem second(p.head, p.theta0, p.rows, p.pairs, options, together);
    const auto a = first.at(moved(p.theta0, 0.3)), b = second.at(moved(p.theta0, 0.3));
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.gradient, b.gradient);
    EXPECT_EQ(first.curvature(a).pull, second.curvature(b).pull);
    EXPECT_EQ(first.product(a, a.gradient, 1, true),
              second.product(b, a.gradient, 1, true));
  }
}

TEST(SolveSeries, EverySolveReachesTheMinimumOfItsLambda) {
  const Exec exec;
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    const SolveOptions options = weights(1, 1);
    SolveSeries series(p.head, p.theta0, p.rows, p.pairs, options, exec);
    Vector start;
    for (const double lambda : {0.01, 1.0, 100.0, 100.0, 0.0, 1e4}) {
      SolveOptions alone = options;
      alone.lambda = lambda;
      const SolveResult found = series.solve(lambda, start);
      const SolveResult expected = solve(p.head, p.theta0, p.rows, p.pairs, alone, exec);
      EXPECT_EQ(found.summary.status, SolveStatus::converged);
      EXPECT_CLOSE(found.theta, expected.theta, 1e-5);
      EXPECT_CLOSE(found.summary.objective, expected.summary.objective, 1e-9);
      start = found.theta;
    }
  }
}

}  // namespace
}  // namespace fmd
