#include "fmd/fit/adam.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/fit/train.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/mlp_head.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;

// Two rings that no line separates.
test::Problem rings(Index rows) {
  test::Problem problem;
  Rng rng(5, "rings");
  std::vector<float> values;
  for (Index i = 0; i < rows; ++i) {
    const auto inner = static_cast<std::int32_t>(rng.below(2));
    const double angle = 6.283185307179586 * rng.uniform(),
                 radius = (inner == 1 ? 0.5 : 1.5) + 0.2 * rng.normal();
    values.push_back(static_cast<float>(radius * std::cos(angle)));
    values.push_back(static_cast<float>(radius * std::sin(angle)));
    problem.y.push_back(inner);
  }
  problem.X = make_dense(std::move(values), rows, 2);
  return problem;
}

TEST(Adam, LearnsWhatNoLinearModelCan) {
  const auto problem = rings(1500);
  const double linear =
      train_linear(LinearHead(2, 1), problem.rows(), {}, {}).summary.objective;
  EXPECT_GT(linear, 0.68);
  for (const Activation a : {Activation::relu, Activation::tanh, Activation::gelu}) {
    const MlpHead head({2, 16, 16, 1}, a);
    const auto result = train_adam(head, problem.rows(),
                                   {.epochs = 60, .batch = 64, .learning_rate = 0.01}, {});
    EXPECT_LT(result.summary.validation_loss, 0.1) << to_string(a);
    EXPECT_LT(result.summary.objective, 0.15) << to_string(a);
  }
}

TEST(Adam, ComesToTheOptimumOfALinearHead) {
  const auto problem = random_problem({.rows = 400, .cols = 3, .weighted = true});
  const LinearHead head(3, 1);
  const auto exact = train_linear(head, problem.rows(), {.l2 = 0.02}, {});
  // Full batches: no noise of minibatches keeps it from the optimum.
  const auto result = train_adam(
      head, problem.rows(),
      {.l2 = 0.02, .epochs = 3000, .batch = 400, .learning_rate = 0.01, .validation = 0},
      {});
  EXPECT_EQ(result.summary.status, AdamStatus::all_epochs);
  EXPECT_EQ(result.summary.best_epoch, 3000);
  EXPECT_TRUE(std::isnan(result.summary.validation_loss));
  EXPECT_CLOSE(result.theta, exact.theta, 1e-5);
  EXPECT_CLOSE(result.summary.objective, exact.summary.objective, 1e-9);
}

TEST(Adam, SameSeedSameBitsForAnyNumberOfThreads) {
  const auto problem =
      random_problem({.rows = 900, .cols = 5, .classes = 3, .sparse = true});
  const MlpHead head({5, 7, 3}, Activation::gelu);
  const AdamOptions options{.epochs = 3, .batch = 300};
  const auto alone = train_adam(head, problem.rows(), options, Exec{.seed = 4});
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const auto result =
        train_adam(head, problem.rows(), options, Exec{.pool = &pool, .seed = 4});
    EXPECT_EQ(result.theta, alone.theta);
    EXPECT_EQ(result.summary.validation_loss, alone.summary.validation_loss);
  }
  EXPECT_NE(train_adam(head, problem.rows(), options, Exec{.seed = 5}).theta, alone.theta);
}

TEST(Adam, StopsEarlyAndRestoresTheBest) {
  // Labels of pure chance: a wide network soon learns the training rows by heart.
  auto problem = random_problem({.rows = 300, .cols = 6});
  Rng rng(8, "labels");
  for (std::int32_t& y : problem.y) y = static_cast<std::int32_t>(rng.below(2));
  const MlpHead head({6, 64, 1}, Activation::relu);
  const AdamOptions options{.l2 = 0,
                            .epochs = 500,
                            .batch = 32,
                            .learning_rate = 0.01,
                            .validation = 0.3,
                            .patience = 5};
  const auto result = train_adam(head, problem.rows(), options, {});
  const AdamSummary& s = result.summary;
  EXPECT_EQ(s.status, AdamStatus::stopped_early);
  EXPECT_EQ(s.epochs, s.best_epoch + 5);
  EXPECT_EQ(s.validation_rows, 90);
  // Training for just as long as the best took gives the same parameters.
  AdamOptions shorter = options;
  if (s.best_epoch > 0) {
    shorter.epochs = s.best_epoch;
    EXPECT_EQ(train_adam(head, problem.rows(), shorter, {}).theta, result.theta);
  } else {
    EXPECT_EQ(initial_theta(head, Exec{}.seed), result.theta);
  }
}

TEST(Adam, AWatcherSeesEveryNthStepAndMayEndTheTraining) {
  const auto problem = random_problem({.rows = 100, .cols = 3});
  const MlpHead head({3, 4, 1}, Activation::relu);
  std::vector<Index> seen;
  Vector last;
  AdamOptions options{.epochs = 9, .batch = 30, .validation = 0, .watch_steps = 3};
  options.watch = [&](Index step, const Vector& theta) {
    seen.push_back(step);
    last = theta;
    return step < 9;
  };
  const auto result = train_adam(head, problem.rows(), options, {});
  EXPECT_EQ(seen, (std::vector<Index>{3, 6, 9}));  // four steps an epoch
  EXPECT_EQ(result.theta, last);
  EXPECT_EQ(result.summary.status, AdamStatus::told_to_stop);
  EXPECT_EQ(result.summary.epochs, 3);
}

TEST(Adam, DivergenceIsReportedAndNeverANumberThatIsNone) {
  const auto problem = random_problem({.rows = 200, .cols = 4});
  const MlpHead head({4, 8, 8, 1}, Activation::relu);
  const auto result =
      train_adam(head, problem.rows(),
                 {.epochs = 50, .batch = 16, .learning_rate = 1e200, .validation = 0}, {});
  EXPECT_EQ(result.summary.status, AdamStatus::diverged);
  EXPECT_TRUE(result.theta.allFinite());
  EXPECT_TRUE(std::isfinite(result.summary.objective));
}

TEST(Adam, BadOptionsAndLabelsAreNamed) {
  const auto problem = random_problem({.rows = 20, .cols = 4});
  const MlpHead head({4, 3, 1}, Activation::relu);
  EXPECT_ERROR((void)train_adam(head, problem.rows(), {.epochs = 0}, {}),
               ErrorKind::bad_option, "train: option epochs is 0, must be >= 1");
  EXPECT_ERROR((void)train_adam(head, problem.rows(), {.learning_rate = -1}, {}),
               ErrorKind::bad_option, "learning_rate");
  EXPECT_ERROR((void)train_adam(head, problem.rows(), {.validation = 0.9}, {}),
               ErrorKind::bad_option, "from 0 to .5");
  auto unlabelled = random_problem({.rows = 20, .cols = 4});
  unlabelled.y[3] = -1;
  EXPECT_ERROR((void)train_adam(head, unlabelled.rows(), {}, {}), ErrorKind::bad_data,
               "row 3 has label -1");
  EXPECT_ERROR(
      (void)train_adam(MlpHead({5, 3, 1}, Activation::relu), problem.rows(), {}, {}),
      ErrorKind::bad_shape, "a row of features has 4 entries, needs 5");
}

}  // namespace
}  // namespace fmd
