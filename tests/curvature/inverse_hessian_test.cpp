#include "fmd/curvature/inverse_hessian.h"

#include <fstream>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/curvature/hessian.h"
#include "fmd/model/linear_head.h"
#include "support/close.h"
#include "support/folder.h"
#include "support/problems.h"

namespace fmd {
namespace {

struct SolverCase {
  const char* name;
  test::ProblemShape shape;
  Index outputs;
};

std::vector<SolverCase> cases() {
  return {
      {"dense sigmoid", {.rows = 9000, .cols = 7, .seed = 2}, 1},
      {"sparse sigmoid",
       {.rows = 9000, .cols = 7, .sparse = true, .weighted = true, .seed = 3},
       1},
      {"ones", {.rows = 5000, .cols = 9, .sparse = true, .ones = true, .seed = 4}, 1},
      {"dense softmax", {.rows = 9000, .cols = 6, .classes = 4, .seed = 5}, 4},
      {"sparse softmax",
       {.rows = 5000, .cols = 6, .classes = 3, .sparse = true, .weighted = true, .seed = 6},
       3}};
}

// Right-hand sides as gradients have them: class sum 0.
Matrix gradients(Index inputs, Index outputs, Index count) {
  Matrix b(outputs * (inputs + 1), count);
  for (Index j = 0; j < count; ++j)
    b.col(j) = test::random_vector(b.rows(), static_cast<std::uint64_t>(20 + j));
  if (outputs == 1) return b;
  for (Index i = 0; i <= inputs; ++i) {
    for (Index j = 0; j < count; ++j) {
      double sum = 0;
      for (Index k = 0; k < outputs; ++k) sum += b(k * (inputs + 1) + i, j);
      for (Index k = 0; k < outputs; ++k)
        b(k * (inputs + 1) + i, j) -= sum / static_cast<double>(outputs);
    }
  }
  return b;
}

TEST(Solvers, ConjugateGradientsAgreeWithCholesky) {
  for (const SolverCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto problem = test::random_problem(c.shape);
    const LinearHead head(c.shape.cols, c.outputs);
    const Vector theta = test::random_vector(head.parameters(), 7, 0.3);
    CurvatureOptions options{.solver = Solver::cholesky, .l2 = 1e-3};
    const auto exact = make_inverse_hessian(head, problem.rows(), theta, options, {});
    options.solver = Solver::cg;
    options.tolerance = 1e-12;
    options.preconditioner_rows = 200;
    const auto steps = make_inverse_hessian(head, problem.rows(), theta, options, {});
    const Matrix b = gradients(c.shape.cols, c.outputs, 3);
    const InverseResult x = exact->apply(b), y = steps->apply(b);
    EXPECT_TRUE(x.summary.converged && y.summary.converged);
    EXPECT_EQ(y.summary.solver, "cg");
    EXPECT_GT(y.summary.iterations, 0);
    EXPECT_LE(y.summary.residual, 2e-12);
    EXPECT_CLOSE(y.x, x.x, 1e-9);
  }
}

TEST(Solvers, TheSoftmaxSolutionIsThePseudoInverses) {
  const SolverCase c = cases()[3];
  const auto problem = test::random_problem(c.shape);
  const LinearHead head(c.shape.cols, c.outputs);
  const Vector theta = test::random_vector(head.parameters(), 7, 0.3);
  // Without ridge, so that H really has the null space.
  const Matrix H = hessian(head, problem.rows(), theta, {.l2 = 0, .gauge = false}, {});
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen{Eigen::MatrixXd(H)};
  Eigen::VectorXd inverse = eigen.eigenvalues();
  Index zeros = 0;
  for (double& value : inverse) {
    zeros += value < 1e-10;
    value = value < 1e-10 ? 0 : 1 / value;
  }
  EXPECT_EQ(zeros, c.shape.cols + 1);
  const Matrix b = gradients(c.shape.cols, c.outputs, 2);
  const Eigen::MatrixXd expected =
      eigen.eigenvectors() * inverse.asDiagonal() * eigen.eigenvectors().transpose() * b;
  for (const Solver solver : {Solver::cholesky, Solver::cg}) {
    const auto made = make_inverse_hessian(head, problem.rows(), theta,
                                           {.solver = solver, .tolerance = 1e-12}, {});
    EXPECT_EQ(made->damping(), 0);
    EXPECT_CLOSE(made->apply(b).x, expected, 1e-9);
  }
}

TEST(Solvers, ThreadsDoNotChangeABit) {
  for (const SolverCase& c : cases()) {
    const auto problem = test::random_problem(c.shape);
    const LinearHead head(c.shape.cols, c.outputs);
    const Vector theta = test::random_vector(head.parameters(), 7, 0.3);
    const Matrix b = gradients(c.shape.cols, c.outputs, 2);
    for (const Solver solver : {Solver::cholesky, Solver::cg}) {
      const CurvatureOptions options{.solver = solver, .l2 = 1e-3};
      const Matrix alone =
          make_inverse_hessian(head, problem.rows(), theta, options, {})->apply(b).x;
      for (const int threads : {2, 4}) {
        ThreadPool pool(threads);
        const Exec exec{.pool = &pool};
        EXPECT_EQ(
            make_inverse_hessian(head, problem.rows(), theta, options, exec)->apply(b).x,
            alone);
      }
    }
  }
}

TEST(Solvers, TheCheaperOneIsTaken) {
  const auto small = test::random_problem({.rows = 2000, .cols = 5});
  const LinearHead head(5, 1);
  const Vector theta = Vector::Zero(6);
  const auto few = make_inverse_hessian(head, small.rows(), theta, {}, {});
  EXPECT_EQ(few->apply(Vector::Ones(6)).summary.solver, "cholesky");
  const auto wide = test::random_problem({.rows = 20000, .cols = 100, .classes = 12});
  const LinearHead many(100, 12);
  const auto cg = make_inverse_hessian(many, wide.rows(), Vector::Zero(many.parameters()),
                                       {.l2 = 1e-3}, {});
  EXPECT_EQ(cg->apply(gradients(100, 12, 1)).summary.solver, "cg");
}

TEST(Solvers, NonConvergenceIsReportedNotThrown) {
  const auto problem = test::random_problem({.rows = 6000, .cols = 40});
  const LinearHead head(40, 1);
  const auto cg = make_inverse_hessian(head, problem.rows(), test::random_vector(41, 3),
                                       {.solver = Solver::cg,
                                        .tolerance = 1e-14,
                                        .max_iterations = 1,
                                        .preconditioner_rows = 60},
                                       {});
  const InverseResult result = cg->apply(Vector::Ones(41));
  EXPECT_FALSE(result.summary.converged);
  EXPECT_GT(result.summary.residual, 1e-14);
  EXPECT_TRUE(result.x.allFinite());
}

TEST(FactorCache, IsUsedAgainAndNeverStale) {
  const test::Folder folder;
  const auto problem = test::random_problem({.rows = 5000, .cols = 5, .weighted = true});
  const LinearHead head(5, 1);
  const Vector theta = test::random_vector(6, 3);
  for (const Solver solver : {Solver::cholesky, Solver::cg}) {
    CurvatureOptions options{.solver = solver, .l2 = 1e-3};
    options.cache = folder.path() / "factors";
    const auto solve = [&](const Rows& rows, const Vector& at) {
      return make_inverse_hessian(head, rows, at, options, {})->apply(Vector::Ones(6));
    };
    const InverseResult first = solve(problem.rows(), theta);
    const InverseResult second = solve(problem.rows(), theta);
    EXPECT_FALSE(first.summary.cached);
    EXPECT_TRUE(second.summary.cached);
    EXPECT_EQ(first.x, second.x);
    EXPECT_EQ(first.summary.rcond, second.summary.rcond);

    EXPECT_FALSE(solve(problem.rows(), theta * 1.001).summary.cached);
    auto other = test::random_problem({.rows = 5000, .cols = 5, .weighted = true});
    other.weight[4321] = 7;
    EXPECT_FALSE(solve(other.rows(), theta).summary.cached);
    options.l2 = 2e-3;
    EXPECT_FALSE(solve(problem.rows(), theta).summary.cached);
  }
}

TEST(FactorCache, ADamagedFileIsMadeAnew) {
  const test::Folder folder;
  const auto problem = test::random_problem({.rows = 300, .cols = 3});
  const LinearHead head(3, 1);
  CurvatureOptions options{.solver = Solver::cholesky, .l2 = 1e-3};
  options.cache = folder.path();
  const auto solve = [&] {
    return make_inverse_hessian(head, problem.rows(), Vector::Zero(4), options, {})
        ->apply(Vector::Ones(4));
  };
  const Matrix expected = solve().x;
  const auto file = std::filesystem::directory_iterator(folder.path())->path();
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, std::size_t{150}}) {
    std::filesystem::resize_file(file, size);
    const InverseResult again = solve();
    EXPECT_FALSE(again.summary.cached);
    EXPECT_EQ(again.x, expected);
    EXPECT_TRUE(solve().summary.cached);
  }
  {
    std::fstream edit(file, std::ios::in | std::ios::out | std::ios::binary);
    edit.seekp(120);
    edit.put('x');
  }
  EXPECT_FALSE(solve().summary.cached);
}

TEST(Solvers, BadOptionsAreNamed) {
  const auto problem = test::random_problem({});
  const LinearHead head(4, 1);
  const Vector theta = Vector::Zero(5);
  EXPECT_ERROR(make_inverse_hessian(head, problem.rows(), theta, {.tolerance = 0}, {}),
               ErrorKind::bad_option, "curvature: option tolerance is 0, must be > 0");
  EXPECT_ERROR(make_inverse_hessian(head, problem.rows(), theta, {.l2 = -1}, {}),
               ErrorKind::bad_option, "option l2 is -1");
  EXPECT_ERROR(make_inverse_hessian(head, problem.rows(), Vector::Zero(4), {}, {}),
               ErrorKind::bad_shape, "theta");
  EXPECT_ERROR(parse_solver("newton"), ErrorKind::bad_option,
               "auto, cholesky, cg, lissa or kfac");
  EXPECT_EQ(parse_solver("cg"), Solver::cg);
}

// The large way on small problems: Kronecker factors or the diagonal in place of a factor.
TEST(Solvers, TheLargeWayAgreesWithCholesky) {
  for (const SolverCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto problem = test::random_problem(c.shape);
    const LinearHead head(c.shape.cols, c.outputs);
    const Vector theta = test::random_vector(head.parameters(), 7, 0.3);
    const Matrix b = gradients(c.shape.cols, c.outputs, 3);
    for (const double damping : {-1.0, 0.01}) {
      CurvatureOptions options{.solver = Solver::cholesky, .l2 = 1e-3};
      options.damping.damping = damping;
      const auto exact = make_inverse_hessian(head, problem.rows(), theta, options, {});
      options.solver = Solver::automatic;
      options.tolerance = 1e-12;
      options.max_dense = 0;
      const auto large = make_inverse_hessian(head, problem.rows(), theta, options, {});
      const InverseResult x = exact->apply(b), y = large->apply(b);
      EXPECT_EQ(y.summary.solver, "cg");
      EXPECT_TRUE(y.summary.converged);
      EXPECT_EQ(y.summary.damping, x.summary.damping);
      EXPECT_CLOSE(y.x, x.x, 1e-9);
    }
  }
}

TEST(Solvers, TheLargeWayIsDampedWithoutARidge) {
  const SolverCase c = cases()[0];
  const auto problem = test::random_problem(c.shape);
  const LinearHead head(c.shape.cols, c.outputs);
  const Vector theta = test::random_vector(head.parameters(), 7, 0.3);
  const auto made = make_inverse_hessian(head, problem.rows(), theta, {.max_dense = 0}, {});
  const Matrix H = hessian(head, problem.rows(), theta, {}, {});
  EXPECT_CLOSE(made->damping(), 1e-4 * H.trace() / static_cast<double>(H.rows()), 1e-6);
}

TEST(Solvers, WhatIsNoSolverOrTooLargeIsAnError) {
  const auto problem = test::random_problem({.rows = 20, .cols = 3});
  const LinearHead head(3, 1);
  const Vector theta = Vector::Zero(4);
  const CurvatureOptions unknown{.solver = static_cast<Solver>(77), .l2 = 1};
  EXPECT_THROW((void)make_inverse_hessian(head, problem.rows(), theta, unknown, {}), Error);
  EXPECT_THROW((void)to_string(static_cast<Solver>(77)), Error);
  const auto wide = make_dense(std::vector<float>(2 * 5000, 1.0F), 2, 5000);
  const std::vector<std::int32_t> y{0, 1};
  try {
    (void)make_inverse_hessian(LinearHead(5000, 1), {wide.get(), y, {}, {}},
                               Vector::Zero(5001), {.solver = Solver::cholesky, .l2 = 1},
                               {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_EQ(e.hint(), "use the solver cg");
  }
}

}  // namespace
}  // namespace fmd
