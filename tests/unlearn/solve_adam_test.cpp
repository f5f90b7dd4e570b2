#include "fmd/unlearn/solve_adam.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/model/mlp_head.h"
#include "support/close.h"
#include "unlearn/solve_cases.h"

namespace fmd {
namespace {

using namespace test;

SolveResult run(const SmallProblem& p, const SolveOptions& options,
                const SolveAdamOptions& adam, const Exec& exec = {},
                const PairsOfEpoch& redraw = nullptr) {
  return solve_adam(p.head, p.theta0, p.rows, p.pairs, options, adam, redraw, exec);
}

// J of a linear head is nearly convex: both minimisers end at the same place.
TEST(SolveAdam, ReachesTheMinimumThatSolveFinds) {
  for (const Index outputs : {1, 3}) {
    const SmallProblem p = small_problem({.rows = 80, .outputs = outputs, .sets = 2});
    const SolveOptions options{.anchor = 1, .fit = 0.2, .lambda = 2, .mu = 0.1, .gaps = {}};
    const auto exact = solve(p.head, p.theta0, p.rows, p.pairs, options, {});
    // Whole batches: no noise.
    const auto found =
        run(p, options, {.epochs = 2000, .batch = 1000, .learning_rate = .01});
    EXPECT_CLOSE(found.summary.objective, exact.summary.objective, 1e-6);
    EXPECT_LT((found.theta - exact.theta).norm(), 1e-2 * exact.theta.norm());
    const auto noisy = run(p, options, {.epochs = 500, .batch = 16, .learning_rate = .01});
    EXPECT_CLOSE(noisy.summary.objective, exact.summary.objective, 0.02);
    EXPECT_EQ(noisy.summary.iterations, 500);
    EXPECT_LT(noisy.summary.objective, noisy.summary.start_objective);
  }
}

TEST(SolveAdam, LowersJOfANetwork) {
  const SmallProblem p = small_problem({.rows = 200, .outputs = 3});
  const MlpHead head({p.head.inputs(), 8, 8, 3}, Activation::relu);
  const Vector theta0 = moved(Vector::Zero(head.parameters()), 0.5);
  const SolveOptions options{.anchor = 1, .lambda = 20, .gaps = {}};
  const auto result =
      solve_adam(head, theta0, p.rows, p.pairs, options,
                 {.epochs = 60, .batch = 32, .learning_rate = .01}, nullptr, {});
  EXPECT_LT(result.summary.objective, 0.6 * result.summary.start_objective);
  EXPECT_CLOSE(
      solve_objective(head, theta0, p.rows, p.pairs, options, result.theta, {}).value,
      result.summary.objective, 1e-12);
}

TEST(SolveAdam, TheSeedDecidesNotTheThreads) {
  const SmallProblem p = small_problem({.rows = 600, .outputs = 3, .sets = 2});
  const SolveOptions options{.anchor = 1, .fit = 0.1, .lambda = 5, .gaps = {}};
  const SolveAdamOptions adam{.epochs = 2, .batch = 300, .learning_rate = .01};
  const Vector alone = run(p, options, adam).theta;
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(run(p, options, adam, {.pool = &pool}).theta, alone);
  }
  EXPECT_NE(run(p, options, adam, {.seed = 2}).theta, alone);
}

TEST(SolveAdam, TakesEachEpochsPairs) {
  const SmallProblem p = small_problem({.rows = 60});
  SmallProblem other = small_problem({.rows = 60, .seed = 9});
  std::vector<int> asked;
  const auto redraw = [&](int epoch) {
    asked.push_back(epoch);
    return std::span<const PairSet>(epoch % 2 == 1 ? p.pairs : other.pairs);
  };
  const SolveOptions options{.anchor = 1, .lambda = 5, .gaps = {}};
  const SolveAdamOptions adam{.epochs = 3, .batch = 20, .learning_rate = .01};
  const Vector drawn = run(p, options, adam, {}, redraw).theta;
  EXPECT_EQ(asked, (std::vector<int>{1, 2, 3}));
  EXPECT_NE(drawn, run(p, options, adam).theta);
  const auto same = [&](int) { return std::span<const PairSet>(p.pairs); };
  EXPECT_EQ(run(p, options, adam, {}, same).theta, run(p, options, adam).theta);
}

TEST(SolveAdam, KeepsFiniteParameters) {
  const SmallProblem p = small_problem({});
  const auto result =
      run(p, {.lambda = 5, .gaps = {}}, {.epochs = 3, .batch = 20, .learning_rate = 1e308});
  EXPECT_TRUE(result.theta.allFinite());
  EXPECT_EQ(result.summary.status, SolveStatus::stopped);
}

TEST(SolveAdam, SaysWhatIsWrong) {
  const SmallProblem p = small_problem({});
  EXPECT_ERROR(run(p, {}, {.epochs = 0}), ErrorKind::bad_option, "epochs");
  EXPECT_ERROR(run(p, {}, {.batch = 0}), ErrorKind::bad_option, "batch");
  EXPECT_ERROR(run(p, {}, {.learning_rate = 0}), ErrorKind::bad_option, "learning_rate");
  EXPECT_ERROR(run(p, {.lambda = -1, .gaps = {}}, {}), ErrorKind::bad_option, "lambda");
  EXPECT_ERROR(run(p, {.gaps = {parity_gap(p, 1)}}, {}), ErrorKind::unsupported, "gap");
  const auto none = [](int) { return std::span<const PairSet>(); };
  EXPECT_ERROR(run(p, {}, {}, {}, none), ErrorKind::bad_shape, "sets of an epoch");
}

}  // namespace
}  // namespace fmd
