#include "unlearn/solve_problem.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "fmd/curvature/hessian.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/path.h"
#include "fmd/unlearn/solve.h"
#include "support/close.h"
#include "unlearn/solve_cases.h"

namespace fmd {
namespace {

using namespace test;

// Each term alone, then all together.
std::vector<SolveOptions> term_options(const SmallProblem& p) {
  const SolveOptions none{.anchor = 0, .fit = 0, .lambda = 0, .mu = 0, .gaps = {}};
  std::vector<SolveOptions> all(6, none);
  all[0].anchor = 1.3;
  all[1].fit = 0.7;
  all[2].lambda = 2.1;
  all[3].mu = 0.4;
  all[4].gaps = {parity_gap(p, 1.7)};
  all[5] = {
      .anchor = 1.1, .fit = 0.6, .lambda = 1.9, .mu = 0.2, .gaps = {parity_gap(p, 0.9)}};
  return all;
}

// J from its definition; scores by the textbook formula, no gaps.
double naive_objective(const SmallProblem& p, const SolveOptions& o, const Vector& theta) {
  const Index outputs = p.head.outputs();
  double value = o.mu / 2 * (theta - p.theta0).squaredNorm();
  const Matrix x = dense_rows(p.rows);
  const Matrix old = textbook_scores(x, p.theta0, outputs);
  const Matrix now = textbook_scores(x, theta, outputs);
  double total = 0, kl = 0;
  for (Index i = 0; i < x.rows(); ++i) {
    total += p.rows.weight_of(i);
    for (Index k = 0; k < old.cols(); ++k)
      kl += p.rows.weight_of(i) * old(i, k) * std::log(old(i, k) / now(i, k));
  }
  value += o.anchor * kl / total;
  for (const PairSet& set : p.pairs) {
    const Matrix c = textbook_scores(dense_rows(set.c), theta, outputs);
    const Matrix cbar = textbook_scores(dense_rows(set.cbar), theta, outputs);
    double sum = 0;
    for (Index i = 0; i < set.size(); ++i) {
      const Index y = set.c.label(i);
      sum += static_cast<double>(set.weight[static_cast<std::size_t>(i)]) *
             (o.lambda * (c.row(i) - cbar.row(i)).squaredNorm() -
              o.fit / 2 * (std::log(c(i, y)) + std::log(cbar(i, y))));
    }
    value += sum / set.total_weight() / static_cast<double>(p.pairs.size());
  }
  return value;
}

TEST(SolveObjective, IsTheDefinition) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    for (SolveOptions options : term_options(p)) {
      options.gaps.clear();
      const Vector theta = moved(p.theta0, 0.3);
      const auto J = solve_objective(p.head, p.theta0, p.rows, p.pairs, options, theta, {});
      EXPECT_CLOSE(J.value, naive_objective(p, options, theta), 1e-11);
    }
  }
}

TEST(SolveObjective, ItsGapTermIsTheSquaredMeasure) {
  const SmallProblem p = small_problem({});
  SolveOptions options = term_options(p)[4];
  const Vector theta = moved(p.theta0, 0.3);
  const Matrix score = all_probabilities(p.head, p.rows, theta, {});
  double sum[2] = {0, 0}, weight[2] = {0, 0};
  for (Index i = 0; i < p.rows.size(); ++i) {
    const auto g = static_cast<std::size_t>(p.group[static_cast<std::size_t>(i)]);
    sum[g] += p.rows.weight_of(i) * score(i, 1);
    weight[g] += p.rows.weight_of(i);
  }
  const double gap = sum[0] / weight[0] - sum[1] / weight[1];
  const auto J = solve_objective(p.head, p.theta0, p.rows, p.pairs, options, theta, {});
  EXPECT_CLOSE(J.value, 1.7 * gap * gap, 1e-12);
}

TEST(SolveObjective, GradientAgreesWithFiniteDifferences) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    for (const SolveOptions& options : term_options(p)) {
      const Vector theta = moved(p.theta0, 0.3);
      const auto J = [&](const Vector& at) {
        return solve_objective(p.head, p.theta0, p.rows, p.pairs, options, at, {});
      };
      Vector difference(p.dim());
      for (Index j = 0; j < p.dim(); ++j) {
        Vector up = theta, down = theta;
        up[j] += 1e-5;
        down[j] -= 1e-5;
        difference[j] = (J(up).value - J(down).value) / 2e-5;
      }
      EXPECT_CLOSE(J(theta).gradient, difference, 1e-6);
    }
  }
}

TEST(SolveObjective, SmallDivergencesKeepTheirDigits) {
  for (const Index outputs : {1, 3}) {
    const SmallProblem p = small_problem({.outputs = outputs});
    const SolveOptions options{.anchor = 1, .lambda = 0, .gaps = {}};
    const Vector step = moved(Vector::Zero(p.dim()), 1e-7);
    const Matrix H = hessian(p.head, p.rows, p.theta0, {.gauge = false}, {});
    double total = 0;
    for (Index i = 0; i < p.rows.size(); ++i) total += p.rows.weight_of(i);
    const double scale = static_cast<double>(p.rows.size()) / total;
    const auto J =
        solve_objective(p.head, p.theta0, p.rows, p.pairs, options, p.theta0 + step, {});
    EXPECT_CLOSE(J.value, scale * step.dot(H * step) / 2, 1e-5);
  }
}

// The Gauss-Newton matrix where residuals vanish is the Hessian: compare with differences
// of the gradient at a point without gaps; elsewhere compare the three ways of computing
// it.
TEST(SolveProblem, MatrixProductAndDiagonalAgree) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    for (const SolveOptions& options : term_options(p)) {
      const Exec exec;
      const SolveProblem problem(p.head, p.theta0, p.rows, p.pairs, options, exec);
      const auto point = problem.at(moved(p.theta0, 0.3));
      const auto matrix = problem.curvature(point);
      const auto diagonal = problem.diagonal(point);
      const Vector v = moved(Vector::Zero(p.dim()), 1);
      const Matrix whole = 1.7 * matrix.hold + matrix.pull;
      EXPECT_CLOSE(problem.product(point, v, 1.7, false), Vector(whole * v), 1e-11);
      EXPECT_CLOSE(diagonal.hold, Vector(matrix.hold.diagonal()), 1e-11);
      EXPECT_CLOSE(diagonal.pull, Vector(matrix.pull.diagonal()), 1e-11);
      EXPECT_CLOSE(whole, Matrix(whole.transpose()), 1e-12);
    }
  }
}

TEST(SolveProblem, TheExactProductIsTheChangeOfTheGradient) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    for (SolveOptions options : term_options(p)) {
      options.gaps.clear();
      const Exec exec;
      const SolveProblem problem(p.head, p.theta0, p.rows, p.pairs, options, exec);
      const Vector theta = moved(p.theta0, 0.3), v = moved(Vector::Zero(p.dim()), 1);
      const Vector difference =
          (problem.at(theta + 1e-5 * v).gradient - problem.at(theta - 1e-5 * v).gradient) /
          2e-5;
      EXPECT_CLOSE(problem.product(problem.at(theta), v, 1, true), difference, 1e-7);
    }
  }
}

TEST(SolveProblem, TheMatrixIsTheHessianWhereThereAreNoGaps) {
  for (const auto& shape : shapes()) {
    const SmallProblem p = small_problem(shape);
    const SolveOptions options{.anchor = 1, .fit = 0, .lambda = 3, .mu = 0.1, .gaps = {}};
    const Vector theta =
        make_path(hessian(p.head, p.rows, p.theta0, {.l2 = 0.01}, {}),
                  consistency_matrix(p.head, p.pairs, p.theta0, {}), p.theta0)
            .theta(std::numeric_limits<double>::infinity());
    const Exec exec;
    const SolveProblem problem(p.head, p.theta0, p.rows, p.pairs, options, exec);
    const auto matrix = problem.curvature(problem.at(theta));
    Matrix difference(p.dim(), p.dim());
    for (Index j = 0; j < p.dim(); ++j) {
      Vector up = theta, down = theta;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      difference.col(j) = (problem.at(up).gradient - problem.at(down).gradient) / 2e-5;
    }
    EXPECT_CLOSE(Matrix(matrix.hold + matrix.pull), difference, 1e-6);
  }
}

}  // namespace
}  // namespace fmd
