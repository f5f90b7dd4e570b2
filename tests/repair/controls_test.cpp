#include "fmd/repair/controls.h"

#include <gtest/gtest.h>

#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/simple.h"
#include "repair/problem.h"
#include "support/close.h"

namespace fmd {
namespace {

TEST(Controls, ATemperatureKeepsEveryDecision) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  const Tempered cooled = tempered(problem, problem.holdout, {});
  EXPECT_CLOSE(Vector(cooled.theta * cooled.temperature), problem.theta, 1e-12);
  EXPECT_EQ(favorable_rate(problem, cooled.theta, problem.holdout, {}),
            favorable_rate(problem, problem.theta, problem.holdout, {}));
}

TEST(Controls, AShiftReachesTheRateOfTheLabels) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  const double labels = favorable_labels(problem, problem.edit);
  const Vector theta = shifted(problem, problem.theta, problem.edit, labels, {});
  EXPECT_NEAR(favorable_rate(problem, theta, problem.edit, {}), labels, 1e-3);
  EXPECT_EQ(Vector(theta.head(3)), Vector(problem.theta.head(3))) << "weights stay";
}

TEST(Controls, RetrainedWithoutAColumnItsWeightIsZeroAndTheRestIsOptimal) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  const Vector theta = retrained_without(problem, {});
  EXPECT_EQ(theta[0], 0);
  const auto gradient =
      objective(small.head, problem.train->rows, theta, problem.l2, 0, {}).gradient;
  for (Index k = 1; k < theta.size(); ++k) EXPECT_NEAR(gradient[k], 0, 1e-5) << k;
}

TEST(Controls, FineTuningLowersTheLossOnBothSidesOfThePairs) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  const auto loss = [&](const Vector& theta) {
    double sum = 0;
    for (const Rows* rows : {&problem.edit.pairs[0].c, &problem.edit.pairs[0].cbar})
      sum += objective(small.head, *rows, theta, 0, 0, {}).value;
    return sum;
  };
  EXPECT_LT(loss(fine_tuned(problem, {})), loss(problem.theta));
}

TEST(Controls, AnAveragedColumnIsTheTrivialEdit) {
  const test::SmallProblem small;
  const HeadProblem& problem = small.problem;
  const std::vector<Index> own = {0};
  EXPECT_EQ(column_averaged(problem, {}),
            average_features(small.head, problem.theta, problem.edit.rows, own, {}));
}

}  // namespace
}  // namespace fmd
