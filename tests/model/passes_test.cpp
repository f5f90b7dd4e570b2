#include "fmd/model/passes.h"

#include <vector>

#include <gtest/gtest.h>

#include "fmd/model/linear_head.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;
using test::random_vector;

TEST(Objective, HasTheSameBitsForAnyNumberOfThreads) {
  const auto problem = random_problem({.rows = 30000, .cols = 6, .classes = 3});
  const LinearHead head(6, 3);
  const Vector theta = random_vector(head.parameters(), 3);
  const auto one = objective(head, problem.rows(), theta, 0.1, 0, {});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const auto many = objective(head, problem.rows(), theta, 0.1, 0, {.pool = &pool});
    EXPECT_EQ(one.value, many.value);
    EXPECT_EQ(one.gradient, many.gradient);
  }
}

TEST(Objective, AWeightOfZeroRemovesTheRowAndItsLabel) {
  auto problem = random_problem({.rows = 40, .cols = 3, .weighted = true});
  const LinearHead head(3, 1);
  const Vector theta = random_vector(4, 3);
  problem.weight[5] = 0;
  problem.y[5] = -1;
  std::vector<Index> others;
  for (Index i = 0; i < 40; ++i)
    if (i != 5) others.push_back(i);
  Rows kept = problem.rows();
  kept.subset = others;
  const auto a = objective(head, problem.rows(), theta, 0.1, 40, {});
  const auto b = objective(head, kept, theta, 0.1, 40, {});
  EXPECT_CLOSE(a.value, b.value, 1e-14);
  EXPECT_CLOSE(a.gradient, b.gradient, 1e-13);
}

TEST(Objective, WrongUseIsNamed) {
  auto problem = random_problem({.rows = 40, .cols = 3});
  const LinearHead head(3, 1);
  EXPECT_ERROR(objective(head, problem.rows(), Vector::Zero(3), 0, 0, {}),
               ErrorKind::bad_shape, "theta has 3 entries, needs 4");
  EXPECT_ERROR(objective(head, problem.rows(), Vector::Zero(4), -1, 0, {}),
               ErrorKind::bad_option, "l2");
  EXPECT_ERROR(objective(LinearHead(4, 1), problem.rows(), Vector::Zero(5), 0, 0, {}),
               ErrorKind::bad_shape, "features");
  problem.y[7] = 2;
  EXPECT_ERROR(objective(head, problem.rows(), Vector::Zero(4), 0, 0, {}),
               ErrorKind::bad_data, "row 7 has label 2");
}

}  // namespace
}  // namespace fmd
