#include "fmd/curvature/hessian.h"

#include <gtest/gtest.h>

#include "fmd/core/accumulator.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/derivatives.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;
using test::random_vector;

struct HessianCase {
  Index outputs;
  bool sparse, weighted;
};

class HessianCases : public testing::TestWithParam<HessianCase> {
 protected:
  HessianCase c = GetParam();
  test::Problem problem = random_problem({.rows = 70,
                                          .cols = 4,
                                          .classes = classes_of(c.outputs),
                                          .sparse = c.sparse,
                                          .weighted = c.weighted,
                                          .seed = 5});
  LinearHead head{4, c.outputs};
  Vector theta = random_vector(head.parameters(), 6, 0.5);
};

TEST_P(HessianCases, IsTheDerivativeOfTheGradient) {
  const auto gradient = [&](const Vector& at) -> Vector {
    return objective(head, problem.rows(), at, 0.2, 90, {}).gradient;
  };
  const Matrix H = hessian(head, problem.rows(), theta,
                           {.l2 = 0.2, .rows_in_mean = 90, .gauge = false}, {});
  EXPECT_CLOSE(H, test::numeric_jacobian(gradient, theta), 1e-8);
  EXPECT_EQ(H, H.transpose());
}

TEST_P(HessianCases, IsTheNaiveSumOfSlopes) {
  const Rows rows = problem.rows();
  const Matrix p = all_probabilities(head, rows, theta, {});
  Scratch scratch;
  const auto block = problem.X->block(0, scratch);
  HessianSum sum(4, c.outputs);
  std::vector<double> w;
  for (Index i = 0; i < 70; ++i) w.push_back(rows.weight_of(i));
  sum.add(block, p, w);
  // H v = sum_i w J^T S J v
  const Vector v = random_vector(theta.size(), 9);
  Matrix u, r(70, c.outputs);
  head.jvp(block, theta, {}, v, u);
  const auto outputs = static_cast<std::size_t>(c.outputs);
  for (Index i = 0; i < 70; ++i) {
    apply_softmax_slope({p.data() + i * p.cols(), static_cast<std::size_t>(p.cols())},
                        {u.data() + i * c.outputs, outputs},
                        {r.data() + i * c.outputs, outputs});
    r.row(i) *= w[static_cast<std::size_t>(i)];
  }
  Vector expected = Vector::Zero(theta.size());
  head.vjp(block, theta, {}, r, expected);
  EXPECT_CLOSE(sum.matrix() * v, expected, 1e-12);
  EXPECT_EQ(sum.rows(), 70);
}

INSTANTIATE_TEST_SUITE_P(All, HessianCases,
                         testing::Values(HessianCase{1, false, false},
                                         HessianCase{1, true, true},
                                         HessianCase{2, false, true},
                                         HessianCase{4, false, true},
                                         HessianCase{4, true, false}));

TEST(Hessian, TheGaugeLiftsTheNullSpaceAndNothingElse) {
  const auto problem = random_problem({.rows = 80, .cols = 3, .classes = 3});
  const LinearHead head(3, 3);
  const Vector theta = random_vector(12, 2);
  const Matrix plain = hessian(head, problem.rows(), theta, {.gauge = false}, {});
  const Matrix lifted = hessian(head, problem.rows(), theta, {}, {});
  Vector same(12);  // the same vector for all classes
  const Vector part = random_vector(4, 8);
  for (Index k = 0; k < 3; ++k) same.segment(4 * k, 4) = part;
  EXPECT_CLOSE(plain * same, Vector::Zero(12), 1e-13);
  EXPECT_CLOSE(lifted * same, plain.trace() / 12 * same, 1e-12);
  Vector zero_sum = random_vector(12, 9);
  Eigen::Map<Matrix> W(zero_sum.data(), 3, 4);
  const Eigen::RowVectorXd mean = W.colwise().mean();
  W.rowwise() -= mean;
  EXPECT_CLOSE(lifted * zero_sum, plain * zero_sum, 1e-12);
}

TEST(Hessian, HasTheSameBitsForAnyNumberOfThreads) {
  const auto problem = random_problem({.rows = 20000, .cols = 5, .classes = 3});
  const LinearHead head(5, 3);
  const Vector theta = random_vector(18, 2);
  const Matrix one = hessian(head, problem.rows(), theta, {}, {});
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(one, hessian(head, problem.rows(), theta, {}, {.pool = &pool}));
  }
}

TEST(Hessian, DenseAndSparseAgree) {
  const test::ProblemShape shape{.rows = 5000, .cols = 6, .classes = 3, .sparse = true};
  const auto sparse = random_problem(shape);
  auto dense = random_problem(shape);
  dense.X = make_dense(test::random_values(shape), 5000, 6);
  const LinearHead head(6, 3);
  const Vector theta = random_vector(21, 2);
  EXPECT_CLOSE(hessian(head, sparse.rows(), theta, {}, {}),
               hessian(head, dense.rows(), theta, {}, {}), 1e-12);
}

TEST(HessianSum, PartsMergeAndSurviveBytes) {
  const auto problem = random_problem({.rows = 5000, .cols = 3});
  const LinearHead head(3, 1);
  const Matrix p = all_probabilities(head, problem.rows(), random_vector(4, 1), {});
  Scratch scratch;
  HessianSum first(3, 1), second(3, 1);
  first.add(problem.X->block(0, scratch), p.topRows(4096), {});
  second.add(problem.X->block(1, scratch), p.bottomRows(904), {});
  ByteWriter out;
  second.save(out);
  ByteReader in(out.bytes());
  const HessianSum loaded = HessianSum::load(in);
  EXPECT_EQ(loaded.matrix(), second.matrix());
  EXPECT_EQ(loaded.rows(), 904);
  const Matrix expected = first.matrix() + second.matrix();
  first.merge(loaded);
  EXPECT_EQ(first.matrix(), expected);
  EXPECT_EQ(first.rows(), 5000);
  static_assert(Accumulator<HessianSum>);
}

TEST(HessianSum, DamagedBytesAndOtherShapesAreErrors) {
  ByteWriter out;
  for (const Index size : {Index{1} << 40, Index{1} << 40, Index{1}}) out.put(size);
  out.put_array(std::span<const double>());
  ByteReader in(out.bytes());
  EXPECT_ERROR(HessianSum::load(in), ErrorKind::bad_model, "hessian state");
  HessianSum sum(3, 1);
  EXPECT_ERROR(sum.merge(HessianSum(4, 1)), ErrorKind::bad_shape, "hessian");
}

}  // namespace
}  // namespace fmd
