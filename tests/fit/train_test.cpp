#include "fmd/fit/train.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;

TEST(Train, WithoutFeaturesTheInterceptIsTheLogitOfTheMean) {
  test::Problem problem;
  problem.X = make_dense({}, 10, 0);
  problem.y = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0};
  const auto result = train_linear(LinearHead(0, 1), problem.rows(), {}, {});
  EXPECT_EQ(result.summary.status, TrainStatus::converged);
  EXPECT_CLOSE(result.theta[0], std::log(0.3 / 0.7), 1e-8);
}

TEST(Train, WithoutFeaturesSoftmaxGivesTheShares) {
  test::Problem problem;
  problem.X = make_dense({}, 10, 0);
  problem.y = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2};
  const LinearHead head(0, 3);
  const auto result = train_linear(head, problem.rows(), {}, {});
  const Matrix p = all_probabilities(head, problem.rows(), result.theta, {});
  EXPECT_CLOSE(p.row(0).transpose(), Vector(Eigen::Vector3d(0.5, 0.3, 0.2)), 1e-8);
}

TEST(Train, TheGradientCriterionHolds) {
  for (const Index outputs : {1, 3}) {
    for (const bool sparse : {false, true}) {
      const auto problem = random_problem({.rows = 30000,
                                           .cols = 8,
                                           .classes = outputs == 1 ? 2 : 3,
                                           .sparse = sparse,
                                           .weighted = true});
      const LinearHead head(8, outputs);
      const auto result = train_linear(head, problem.rows(), {}, {});
      const double l2 = 1.0 / 30000;
      const Vector zero = Vector::Zero(head.parameters());
      const double scale = objective(head, problem.rows(), zero, l2, 0, {}).gradient.norm();
      const double left =
          objective(head, problem.rows(), result.theta, l2, 0, {}).gradient.norm();
      EXPECT_EQ(result.summary.status, TrainStatus::converged);
      EXPECT_LE(left, 1e-8 * scale);
      EXPECT_CLOSE(result.summary.relative_gradient, left / scale, 1e-6);
      EXPECT_EQ(result.summary.l2, l2);
    }
  }
}

TEST(Train, TheAnswerDoesNotDependOnTheStart) {
  const auto problem = random_problem({.rows = 500, .cols = 5, .classes = 3});
  const LinearHead head(5, 3);
  const TrainOptions options{.l2 = 0.01, .relative_gradient = 1e-12};
  const auto a = train_linear(head, problem.rows(), options, {});
  const auto b = train_linear(head, problem.rows(), options, {},
                              test::random_vector(head.parameters(), 3, 2));
  EXPECT_EQ(b.summary.status, TrainStatus::converged);
  EXPECT_CLOSE(a.theta, b.theta, 1e-9);
}

TEST(Train, ASigmoidIsATwoClassSoftmaxWithTwiceTheRidge) {
  const auto problem = random_problem({.rows = 400, .cols = 5});
  const LinearHead one(5, 1), two(5, 2);
  const double tight = 1e-12;
  const auto a =
      train_linear(one, problem.rows(), {.l2 = 0.01, .relative_gradient = tight}, {});
  const auto b =
      train_linear(two, problem.rows(), {.l2 = 0.02, .relative_gradient = tight}, {});
  EXPECT_CLOSE(all_probabilities(one, problem.rows(), a.theta, {}),
               all_probabilities(two, problem.rows(), b.theta, {}), 1e-9);
}

TEST(Train, AWeightOfTwoIsARowTwice) {
  auto problem = random_problem({.rows = 300, .cols = 4});
  std::vector<Index> twice;
  for (Index i = 0; i < 300; ++i) {
    twice.push_back(i);
    if (i % 3 == 0) twice.push_back(i);
  }
  Rows repeated = problem.rows();
  repeated.subset = twice;
  std::vector<float> weight;
  for (Index i = 0; i < 300; ++i) weight.push_back(i % 3 == 0 ? 2.0f : 1.0f);
  Rows weighted = problem.rows();
  weighted.weight = weight;
  const TrainOptions options{.l2 = 0.01, .relative_gradient = 1e-12, .rows_in_mean = 400};
  const LinearHead head(4, 1);
  EXPECT_CLOSE(train_linear(head, repeated, options, {}).theta,
               train_linear(head, weighted, options, {}).theta, 1e-9);
}

TEST(Train, AWeightOfZeroIsARowRemoved) {
  auto problem = random_problem({.rows = 300, .cols = 4, .weighted = true});
  problem.weight[3] = 0;
  problem.y[3] = -1;
  std::vector<Index> others;
  for (Index i = 0; i < 300; ++i)
    if (i != 3) others.push_back(i);
  Rows kept = problem.rows();
  kept.subset = others;
  const TrainOptions options{.l2 = 0.01, .relative_gradient = 1e-12, .rows_in_mean = 300};
  const LinearHead head(4, 1);
  EXPECT_CLOSE(train_linear(head, kept, options, {}).theta,
               train_linear(head, problem.rows(), options, {}).theta, 1e-9);
}

TEST(Train, HasTheSameBitsForAnyNumberOfThreads) {
  const auto problem = random_problem({.rows = 30000, .cols = 6, .sparse = true});
  const LinearHead head(6, 1);
  const auto one = train_linear(head, problem.rows(), {}, {});
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const auto many = train_linear(head, problem.rows(), {}, {.pool = &pool});
    EXPECT_EQ(one.theta, many.theta);
    EXPECT_EQ(one.summary.iterations, many.summary.iterations);
  }
}

TEST(Train, CollinearFeaturesWithoutRidgeStillConverge) {
  auto problem = random_problem({.rows = 200, .cols = 2});
  std::vector<float> values;
  for (Index i = 0; i < 200; ++i) {
    const float first =
        problem.y[static_cast<std::size_t>((i * 7) % 200)] == 1 ? 1.0f : 0.0f;
    values.insert(values.end(), {first, 1 - first});  // sums to the intercept's column
  }
  problem.X = make_dense(values, 200, 2);
  const auto result = train_linear(LinearHead(2, 1), problem.rows(), {.l2 = 0}, {});
  EXPECT_EQ(result.summary.status, TrainStatus::converged);
  EXPECT_TRUE(result.theta.allFinite());
}

TEST(Train, SeparableDataWithoutRidgeStopsWithFiniteNumbers) {
  for (const Index outputs : {1, 2, 3}) {
    test::Problem problem;
    std::vector<float> values;
    for (Index i = 0; i < 60; ++i) {
      const auto y = static_cast<std::int32_t>(i % classes_of(outputs));
      problem.y.push_back(y);
      values.insert(values.end(), {y == 1 ? 1.0f : 0.0f, y == 2 ? 1.0f : 0.0f});
    }
    problem.X = make_dense(values, 60, 2);
    const LinearHead head(2, outputs);
    const auto without = train_linear(head, problem.rows(), {.l2 = 0}, {});
    EXPECT_EQ(without.summary.status, TrainStatus::stopped);
    EXPECT_TRUE(without.theta.allFinite());
    EXPECT_TRUE(std::isfinite(without.summary.objective));
    const auto with = train_linear(head, problem.rows(), {.l2 = 0.01}, {});
    EXPECT_EQ(with.summary.status, TrainStatus::converged);
  }
}

TEST(Train, OneClassOnlyIsStoppedNotConverged) {
  auto problem = random_problem({.rows = 50, .cols = 2});
  std::fill(problem.y.begin(), problem.y.end(), 1);
  const auto result = train_linear(LinearHead(2, 1), problem.rows(), {}, {});
  EXPECT_EQ(result.summary.status, TrainStatus::stopped);
  EXPECT_TRUE(result.theta.allFinite());
}

TEST(Train, TooFewIterationsAreReported) {
  const auto problem = random_problem({.rows = 500, .cols = 5});
  const auto result =
      train_linear(LinearHead(5, 1), problem.rows(), {.max_iterations = 1}, {});
  EXPECT_EQ(result.summary.status, TrainStatus::stopped);
  EXPECT_GT(result.summary.relative_gradient, 1e-8);
}

TEST(Train, WrongUseIsNamed) {
  auto problem = random_problem({.rows = 20, .cols = 2});
  const LinearHead head(2, 1);
  EXPECT_ERROR(train_linear(head, problem.rows(), {.l2 = -3}, {}), ErrorKind::bad_option,
               "option l2 is -3");
  EXPECT_ERROR(train_linear(LinearHead(3, 1), problem.rows(), {}, {}), ErrorKind::bad_shape,
               "needs 3");
  EXPECT_ERROR(train_linear(head, problem.rows(), {}, {}, Vector::Zero(2)),
               ErrorKind::bad_shape, "start");
  const std::vector<float> none(20, 0.0f);
  Rows empty = problem.rows();
  empty.weight = none;
  EXPECT_ERROR(train_linear(head, empty, {}, {}), ErrorKind::bad_data, "no rows");
  problem.y[4] = -1;
  EXPECT_ERROR(train_linear(head, problem.rows(), {}, {}), ErrorKind::bad_data,
               "row 4 has label -1");
}

// The large way on small problems: the optimum is the same.
TEST(Train, TheLargeWayFindsTheSameOptimum) {
  for (const Index outputs : {1, 3}) {
    for (const double l2 : {1e-3, 0.0}) {
      SCOPED_TRACE(testing::Message() << outputs << " outputs, l2 " << l2);
      const auto problem = random_problem({.rows = 30000,
                                           .cols = 8,
                                           .classes = outputs == 1 ? 2 : 3,
                                           .sparse = true,
                                           .weighted = true});
      const LinearHead head(8, outputs);
      TrainOptions options{.l2 = l2, .relative_gradient = 1e-11};
      const auto dense = train_linear(head, problem.rows(), options, {});
      options.max_dense = 0;
      const auto large = train_linear(head, problem.rows(), options, {});
      EXPECT_EQ(large.summary.status, TrainStatus::converged);
      EXPECT_CLOSE(large.theta, dense.theta, 1e-8);
    }
  }
}

}  // namespace
}  // namespace fmd
