#include "unlearn/polish.h"

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/curvature/hessian.h"
#include "fmd/unlearn/path.h"
#include "support/close.h"
#include "trees/leaf_problem.h"

namespace fmd {
namespace {

// (H + 2 lambda G)^-1 H theta0.
Vector exact(const LinearHead& head, const Rows& rows, std::span<const PairSet> pairs,
             const Vector& theta0, double l2, double lambda) {
  const Matrix H = hessian(head, rows, theta0, {.l2 = l2}, {});
  const Matrix G = consistency_matrix(head, pairs, theta0, {});
  return (H + 2 * lambda * G).ldlt().solve(H * theta0);
}

TEST(Polish, ManyStepsEndAtTheExactMinimum) {
  for (const Index outputs : {1, 3}) {
    const test::LeafProblem small(outputs);
    const HeadProblem& p = small.problem;
    const LeafPolish polish(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, {});
    const Vector want = exact(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, 3.0);
    EXPECT_CLOSE(polish.run(p.theta, 3.0, 500, {}), want, 1e-8);
    EXPECT_LT(polish.gradient(want, 3.0, {}).norm(), 1e-12);
    EXPECT_EQ(polish.run(p.theta, 0, 5, {}), p.theta);
  }
}

TEST(Polish, FewStepsHaveTheSameBitsForAnyNumberOfThreads) {
  const test::LeafProblem small(1, 9000);
  const HeadProblem& p = small.problem;
  ThreadPool pool(3);
  const Exec many{.pool = &pool};
  const LeafPolish one(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, {});
  const LeafPolish three(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, many);
  EXPECT_EQ(one.run(p.theta, 30, 5, {}), three.run(p.theta, 30, 5, {}));
}

TEST(Polish, RowsThatDoNotCountMightAsWellNotBeThere) {
  test::LeafProblem small;
  small.add_folds(4);
  const HeadProblem& p = small.problem;
  std::vector<char> out(static_cast<std::size_t>(p.edit.rows.size()), 0);
  std::vector<Index> others;
  for (const Index row : p.folds[1]) out[static_cast<std::size_t>(row)] = 1;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == 0) others.push_back(static_cast<Index>(i));
  Rows rows = p.edit.rows;
  rows.subset = others;
  PairSet pairs = p.edit.pairs[0];
  pairs.c.subset = pairs.cbar.subset = others;
  pairs.unit = others;
  pairs.weight.resize(others.size());
  const LeafPolish whole(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, {});
  const LeafPolish part(small.head, rows, std::span(&pairs, 1), p.theta, p.l2, {});
  EXPECT_CLOSE(whole.run(p.theta, 10, 7, {.row = out, .of_rows = true, .sets = 1}),
               part.run(p.theta, 10, 7, {}), 1e-10);
}

TEST(Polish, SeveralStartsHaveTheBitsOfEachAlone) {
  for (const Index outputs : {1, 3}) {
    test::LeafProblem small(outputs, 5000);
    small.add_folds(9);
    const HeadProblem& p = small.problem;
    const LeafPolish polish(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, {});
    std::vector<std::vector<char>> out(p.folds.size(), std::vector<char>(5000, 0));
    std::vector<Vector> starts = {p.theta};
    std::vector<UncountedRows> uncounted = {{}};
    for (std::size_t k = 0; k < p.folds.size(); ++k) {
      for (const Index row : p.folds[k]) out[k][static_cast<std::size_t>(row)] = 1;
      uncounted.push_back({.row = out[k], .of_rows = k % 2 == 0, .sets = 1});
      starts.emplace_back(p.theta * (1 + 0.1 * static_cast<double>(k)));
    }
    const std::vector<Vector> together = polish.run_all(starts, 20, 6, uncounted);
    ASSERT_EQ(together.size(), starts.size());
    for (std::size_t i = 0; i < starts.size(); ++i)
      EXPECT_EQ(together[i], polish.run(starts[i], 20, 6, uncounted[i]));
    EXPECT_ERROR((void)polish.run_all(starts, 20, 6, {}), ErrorKind::bad_shape,
                 "for each start");
  }
}

TEST(Polish, OrderedLeavesEndInOrder) {
  const test::LeafProblem small;
  const HeadProblem& p = small.problem;
  const std::vector<std::pair<Index, Index>> ordered = {
      {0, 1}, {2, 3}, {4, 5}, {1, 3}, {12, 13}};
  const LeafPolish polish(small.head, p.edit.rows, p.edit.pairs, p.theta, p.l2, {});
  const Vector theta = polish.run_ordered(p.theta, 100, ordered, {});
  for (const auto& [first, second] : ordered) EXPECT_LE(theta[first], theta[second]);
  const auto form = [&](const Vector& at) {
    return (at - p.theta).dot(polish.gradient(at, 0, {})) / 2 +
           at.dot(polish.gradient(at, 100, {}) - polish.gradient(at, 0, {})) / 2;
  };
  EXPECT_LT(form(theta), form(p.theta));
}

TEST(Polish, AHeadWithInterceptsIsRefused) {
  const test::LeafProblem small;
  const HeadProblem& p = small.problem;
  const LinearHead other(small.head.inputs(), 1);
  EXPECT_ERROR(LeafPolish(other, p.edit.rows, p.edit.pairs,
                          Vector::Zero(other.parameters()), p.l2, {}),
               ErrorKind::unsupported, "more than values of leaves");
}

}  // namespace
}  // namespace fmd
