#include "repair/match_candidates.h"

#include <gtest/gtest.h>

#include "fmd/model/passes.h"
#include "repair/problem.h"
#include "support/close.h"

namespace fmd {
namespace {

// The same problem in other units: feature k is divided by `unit[k]` and moved.
struct OtherUnits {
  std::unique_ptr<Features> X;
  HeadProblem problem;

  OtherUnits(const test::SmallProblem& small, const std::vector<double>& unit)
      : problem(small.problem) {
    Scratch scratch;
    const FeatureBlock block = small.edit.X->block(0, scratch);
    std::vector<float> values;
    const Matrix W = small.head.W(problem.theta);
    Matrix changed = W;
    Vector b = small.head.b(problem.theta);
    for (Index i = 0; i < block.rows; ++i)
      for (Index k = 0; k < 3; ++k)
        values.push_back(static_cast<float>(static_cast<double>(block.dense[3 * i + k]) /
                                                unit[static_cast<std::size_t>(k)] +
                                            1));
    for (Index k = 0; k < 3; ++k) {
      changed(0, k) = W(0, k) * unit[static_cast<std::size_t>(k)];
      b[0] -= changed(0, k);
    }
    X = make_dense(std::move(values), block.rows, 3);
    problem.theta = small.head.from(changed, b);
    problem.edit.rows.X = X.get();
    problem.attribute_features.reset();  // features, not columns
    problem.repaired = {{0, PairKind::match}};
  }
};

Matrix answers(const HeadProblem& problem, double mu, double gamma) {
  const internal::MatchFit fit(problem, 1);
  const SolveResult found = fit.solve(mu, gamma, {}, {});
  return all_probabilities(*problem.head, problem.edit.rows, found.theta, {});
}

TEST(MatchFit, MuMeansTheSameInAnyUnitsOfFeatures) {
  const test::SmallProblem small;
  const OtherUnits plain(small, {1, 1, 1}), other(small, {0.01, 7, 30});
  for (const double gamma : {0.0, 10.0}) {
    const Matrix first = answers(plain.problem, 0.1, gamma);
    EXPECT_LT((first - answers(other.problem, 0.1, gamma)).cwiseAbs().maxCoeff(), 1e-4);
    // Columns of a table are used as the encoder made them, so their units count.
    OtherUnits columns(small, {0.01, 7, 30});
    columns.problem.attribute_features.emplace();
    EXPECT_GT((first - answers(columns.problem, 0.1, gamma)).cwiseAbs().maxCoeff(), 1e-2);
  }
}

TEST(MatchFit, AFeatureWithoutSpreadKeepsItsWeight) {
  const test::SmallProblem small;
  OtherUnits same(small, {1, 1, 1e9});
  const internal::MatchFit fit(same.problem, 1);
  const Vector theta = fit.solve(1, 0, {}, {}).theta;
  ASSERT_TRUE(theta.allFinite());
  EXPECT_EQ(theta[small.head.weight(0, 2)], same.problem.theta[small.head.weight(0, 2)]);
}

}  // namespace
}  // namespace fmd
