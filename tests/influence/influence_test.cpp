#include "fmd/influence/influence.h"

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/influence/refit.h"
#include "fmd/model/passes.h"
#include "influence/influence_setting.h"
#include "support/close.h"

namespace fmd {
namespace {

using Setting = test::InfluenceSetting;

std::vector<std::unique_ptr<BiasMeasure>> measures() {
  std::vector<std::unique_ptr<BiasMeasure>> made;
  for (const char* name :
       {"co", "co_tv", "demographic_parity_soft", "equal_opportunity_soft", "loss"})
    made.push_back(make_measure(name));
  return made;
}

std::vector<BiasTarget> targets(const std::vector<std::unique_ptr<BiasMeasure>>& measures,
                                const Setting& s) {
  std::vector<BiasTarget> all;
  for (const auto& m : measures) all.push_back({m.get(), s.data()});
  return all;
}

// The definition, row by row with dense algebra: dB_k = (1/n) grad L_k . H^-1 grad B.
TEST(Influence, IsTheFormulaWrittenOut) {
  for (const Index classes : {2, 3}) {
    const Setting s(400, classes, true);
    const auto made = measures();
    const auto all = targets(made, s);
    const auto result = influence(s.head, s.train.rows(), s.theta, all, s.options(), {});
    const auto inverse =
        make_inverse_hessian(s.head, s.train.rows(), s.theta, s.options().curvature, {});
    for (std::size_t j = 0; j < all.size(); ++j) {
      const MeasureValue gap = gap_of(all[j], s.head, s.theta, true, {});
      const Vector v = inverse->apply(gap.gradient).x.col(0);
      EXPECT_CLOSE(result.value[j], gap.value, 1e-14);
      for (const Index k : {0, 17, 399}) {
        const std::vector<Index> one = {k};
        const Rows row{s.train.X.get(), s.train.y, s.train.weight, one};
        const Vector g = objective(s.head, row, s.theta, 0, 400, {}).gradient;
        EXPECT_CLOSE(result.change(k, static_cast<Index>(j)), g.dot(v), 1e-9);
      }
    }
    EXPECT_TRUE(result.at_optimum());
    EXPECT_LE(result.solve.residual, 1e-8);
  }
}

TEST(Influence, AgreesWithRefittingWithoutARow) {
  for (const Index classes : {2, 3}) {
    const Setting s(3000, classes);
    const auto made = measures();
    const auto all = targets(made, s);
    const auto result = influence(s.head, s.train.rows(), s.theta, all, s.options(), {});
    for (const Index k : {3, 1500, 2999}) {
      const Vector without = refit_without(s.head, s.train.rows(), s.theta, std::vector{k},
                                           {.l2 = s.l2, .relative_gradient = 1e-13}, {});
      for (std::size_t j = 0; j < all.size(); ++j) {
        const double real =
            gap_of(all[j], s.head, without, false, {}).value - result.value[j];
        // Second order is about 1 / n of the first.
        EXPECT_NEAR(result.change(k, static_cast<Index>(j)), real,
                    0.04 * std::abs(real) + 1e-8)
            << all[j].measure->name();
      }
    }
  }
}

TEST(Influence, SolversThreadsAndSubsetsAgree) {
  const Setting s(9000, 3);
  const auto made = measures();
  const auto all = targets(made, s);
  const auto exact = influence(s.head, s.train.rows(), s.theta, all, s.options(), {});
  const auto cg =
      influence(s.head, s.train.rows(), s.theta, all, s.options(Solver::cg), {});
  EXPECT_EQ(cg.solve.solver, "cg");
  EXPECT_CLOSE(cg.change, exact.change, 1e-9);
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const Exec exec{.pool = &pool};
    for (const Solver solver : {Solver::cholesky, Solver::cg}) {
      const auto again =
          influence(s.head, s.train.rows(), s.theta, all, s.options(solver), exec);
      EXPECT_EQ(again.change, solver == Solver::cg ? cg.change : exact.change);
    }
  }
  std::vector<Index> turned;
  for (Index i = 0; i < 9000; ++i) turned.push_back(8999 - i);
  const Rows backwards{s.train.X.get(), s.train.y, {}, turned};
  const auto reversed = influence(s.head, backwards, s.theta, all, s.options(), {});
  EXPECT_CLOSE(Matrix(reversed.change.colwise().reverse()), exact.change, 1e-9);
}

TEST(Influence, RowsWithoutLabelOrWeightRestOnNothing) {
  Setting s(400, 2, true);
  s.train.weight[5] = 0;
  const auto co = make_measure("co");
  const auto result =
      influence(s.head, s.train.rows(), s.theta, {{co.get(), s.data()}}, s.options(), {});
  EXPECT_EQ(result.change(5, 0), 0);
  EXPECT_FALSE(result.at_optimum());  // that row was part of the fit
}

TEST(Influence, AHeadAwayFromItsOptimumIsTold) {
  const Setting s(400, 2);
  const auto co = make_measure("co");
  const auto result = influence(s.head, s.train.rows(), Vector(1.3 * s.theta),
                                {{co.get(), s.data()}}, s.options(), {});
  EXPECT_GT(result.relative_gradient, 1e-3);
  EXPECT_FALSE(result.at_optimum());
}

TEST(Influence, BadInputIsNamed) {
  const Setting s(100, 2);
  EXPECT_ERROR(influence(s.head, s.train.rows(), s.theta, {}, {}, {}),
               ErrorKind::bad_option, "no measure");
  EXPECT_ERROR(influence(s.head, s.train.rows(), s.theta, {{nullptr, s.data()}}, {}, {}),
               ErrorKind::bad_option, "no measure");
  const auto co = make_measure("co");
  EXPECT_ERROR(influence(s.head, {}, s.theta, {{co.get(), s.data()}}, {}, {}),
               ErrorKind::bad_data, "no training rows");
  EXPECT_ERROR(
      influence(s.head, s.train.rows(), Vector::Zero(3), {{co.get(), s.data()}}, {}, {}),
      ErrorKind::bad_shape, "theta");
}

TEST(Influence, TheLargeWayGivesTheSameChanges) {
  for (const Index classes : {2, 3}) {
    const Setting s(3000, classes, true);
    const auto made = measures();
    const auto all = targets(made, s);
    const auto dense = influence(s.head, s.train.rows(), s.theta, all, s.options(), {});
    InfluenceOptions options = s.options(Solver::automatic);
    options.curvature.max_dense = 0;
    const auto large = influence(s.head, s.train.rows(), s.theta, all, options, {});
    EXPECT_EQ(large.solve.solver, "cg");
    EXPECT_CLOSE(large.change, dense.change, 1e-9);
    const std::vector<Index> entries = {3, 5, 8};
    const std::vector<double> change(static_cast<std::size_t>(dense.change.rows()), 0.0);
    const auto check = [&](Index max_dense) {
      return check_removal(s.head, s.train.rows(), s.theta, all[0], change, entries,
                           {.l2 = s.l2, .relative_gradient = 1e-11, .max_dense = max_dense},
                           {});
    };
    const RemovalCheck small = check(2000), products = check(0);
    EXPECT_CLOSE(products.newton, small.newton, 1e-4);  // cg's own tolerance
    EXPECT_CLOSE(products.refitted, small.refitted, 1e-6);
  }
}

}  // namespace
}  // namespace fmd
