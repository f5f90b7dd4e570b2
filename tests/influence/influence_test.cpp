#include "fmd/influence/influence.h"

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/fit/train.h"
#include "fmd/influence/ranking.h"
#include "fmd/influence/refit.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

// Training rows, and pairs and groups to measure on.
struct Setting {
  test::Problem train;
  test::PairProblem measured;
  LinearHead head;
  Vector theta;
  double l2 = 1e-2;

  Setting(Index rows, Index classes, bool weighted = false)
      : train(test::random_problem(
            {.rows = rows, .cols = 4, .classes = classes, .weighted = weighted})),
        measured(300, 4, classes),
        head(4, classes == 2 ? 1 : classes) {
    theta =
        train_linear(head, train.rows(), {.l2 = l2, .relative_gradient = 1e-12}, {}).theta;
  }
  [[nodiscard]] MeasureData data() const {
    return {&measured.pairs, measured.c.rows(), measured.group};
  }
  [[nodiscard]] InfluenceOptions options(Solver solver = Solver::cholesky) const {
    return {{.solver = solver, .l2 = l2, .tolerance = 1e-12}};
  }
};

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

TEST(Ranking, MostNegativeFirstEqualOnesByEntry) {
  const std::vector<double> change = {-1, 2, -3, -1, 0, -3};
  EXPECT_EQ(most_harmful(change, 10), (std::vector<Index>{2, 5, 0, 3}));
  EXPECT_EQ(most_harmful(change, 3), (std::vector<Index>{2, 5, 0}));
  EXPECT_TRUE(most_harmful(change, 0).empty());
  EXPECT_ERROR(most_harmful(change, -1), ErrorKind::bad_option, "count");
}

TEST(Ranking, CellsAddUp) {
  const std::vector<double> change = {-1, 2, -3, 4, 5};
  const std::vector<std::int32_t> label = {0, 1, 0, 1, -1}, group = {0, 0, 1, 0, 0};
  const auto cells = influence_cells(change, label, group);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0].group, 1);
  EXPECT_EQ(cells[0].per_100(), -300);
  EXPECT_EQ(cells[2].rows, 2);
  EXPECT_EQ(cells[2].per_100(), 300);
  EXPECT_ERROR(influence_cells(change, label, {}), ErrorKind::bad_shape, "group");
}

TEST(Refit, PredictedNewtonAndRefittedAgreeForFewRows) {
  const Setting s(3000, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  const auto result = influence(s.head, s.train.rows(), s.theta, {target}, s.options(), {});
  const std::vector<double> change(result.change.data(), result.change.data() + 3000);
  const auto rows = most_harmful(change, 30);
  const auto check = check_removal(s.head, s.train.rows(), s.theta, target, change, rows,
                                   {.l2 = s.l2}, {});
  EXPECT_EQ(check.rows, 30);
  EXPECT_TRUE(check.converged);
  EXPECT_FALSE(check.capped);
  EXPECT_LT(check.refitted, 0);
  EXPECT_NEAR(check.predicted, check.refitted, 0.15 * -check.refitted);
  EXPECT_NEAR(check.newton, check.refitted, 0.02 * -check.refitted);
}

TEST(Refit, AHeadAwayFromItsOptimumIsCheckedFromTheOptimum) {
  const Setting s(3000, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  const std::vector<double> change(3000, 0.0);
  const std::vector<Index> rows = {1, 20, 300};
  const auto there = check_removal(s.head, s.train.rows(), s.theta, target, change, rows,
                                   {.l2 = s.l2, .relative_gradient = 1e-12}, {});
  const auto away =
      check_removal(s.head, s.train.rows(), Vector(1.4 * s.theta), target, change, rows,
                    {.l2 = s.l2, .relative_gradient = 1e-12}, {});
  EXPECT_CLOSE(away.refitted, there.refitted, 1e-6);
  EXPECT_CLOSE(away.newton, there.newton, 1e-6);
}

TEST(Refit, APredictionLargerThanTheGapIsCapped) {
  const Setting s(300, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  std::vector<double> change(300, -1.0);
  const auto check = check_removal(s.head, s.train.rows(), s.theta, target, change,
                                   std::vector<Index>{1, 2}, {.l2 = s.l2}, {});
  EXPECT_TRUE(check.capped);
  EXPECT_EQ(check.predicted, -gap_of(target, s.head, s.theta, false, {}).value);
}

TEST(Refit, RoundsRemoveWhatTheyPredict) {
  const Setting s(3000, 2);
  const auto co = make_measure("co");
  const BiasTarget target{co.get(), s.data()};
  const auto removal =
      remove_in_rounds(s.head, s.train.rows(), s.theta, target,
                       {.count = 300, .curvature = s.options().curvature}, {});
  EXPECT_GT(removal.rounds.size(), 1u);
  EXPECT_LT(removal.after, removal.before);
  double sum = 0;
  for (const RemovalCheck& round : removal.rounds) sum += round.refitted;
  EXPECT_CLOSE(sum, removal.after - removal.before, 1e-9);
  // Going in rounds stays honest where one shot overshoots.
  for (std::size_t r = 0; r + 1 < removal.rounds.size(); ++r)
    EXPECT_LE(removal.rounds[r].refitted, 0.5 * removal.rounds[r].predicted);
  std::vector<Index> sorted = removal.entries;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

}  // namespace
}  // namespace fmd
