#include "fmd/unlearn/simple.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/model/passes.h"
#include "support/close.h"
#include "unlearn/small_problem.h"

namespace fmd {
namespace {

using test::small_problem;
using test::SmallProblem;

double mean_loss(const SmallProblem& p, const Vector& theta) {
  return objective(p.head, p.rows, theta, 0, 0, {}).value;
}

// Share of the rows that are decided for cls.
double rate_of(const SmallProblem& p, const Vector& theta, double threshold, int cls) {
  const Matrix score = all_probabilities(p.head, p.rows, theta, {});
  Index count = 0;
  for (Index i = 0; i < score.rows(); ++i) {
    Index decided = score(i, score.cols() - 1) >= threshold ? 1 : 0;
    if (score.cols() > 2) score.row(i).maxCoeff(&decided);
    if (decided == cls) ++count;
  }
  return static_cast<double>(count) / static_cast<double>(score.rows());
}

TEST(AverageFeatures, LeavesNoFlipGapAndKeepsTheMeanLogit) {
  for (const Index outputs : {1, 3}) {
    const SmallProblem p = small_problem({.outputs = outputs, .sparse = true});
    const std::vector<Index> attribute = {0, 1, 2};
    const Vector theta = average_features(p.head, p.theta0, p.rows, attribute, {});
    EXPECT_EQ(all_probabilities(p.head, p.pairs[0].c, theta, {}),
              all_probabilities(p.head, p.pairs[0].cbar, theta, {}));
    const Matrix before = all_logits(p.head, p.rows, p.theta0, {});
    const Matrix after = all_logits(p.head, p.rows, theta, {});
    double total = 0;
    Vector change = Vector::Zero(outputs);
    for (Index i = 0; i < p.rows.size(); ++i) {
      total += p.rows.weight_of(i);
      change += p.rows.weight_of(i) * (after.row(i) - before.row(i)).transpose();
    }
    EXPECT_LE(change.cwiseAbs().maxCoeff() / total, 1e-14);
  }
}

TEST(AverageFeatures, OfNoFeatureIsTheSameModel) {
  const SmallProblem p = small_problem({});
  EXPECT_EQ(average_features(p.head, p.theta0, p.rows, {}, {}), p.theta0);
}

RC_GTEST_PROP(Temper, KeepsTheMostProbableClass, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const double temperature = *rc::gen::inRange(5, 2000) / 100.0;
  const SmallProblem p = small_problem({.outputs = 4, .seed = seed});
  const Matrix before = all_probabilities(p.head, p.rows, p.theta0, {});
  const Matrix after =
      all_probabilities(p.head, p.rows, temper(p.head, p.theta0, temperature), {});
  for (Index i = 0; i < before.rows(); ++i) {
    Index first = 0, second = 0;
    before.row(i).maxCoeff(&first);
    after.row(i).maxCoeff(&second);
    RC_ASSERT(first == second);
  }
}

TEST(Temper, DividesTheLogits) {
  const SmallProblem p = small_problem({.outputs = 3});
  EXPECT_CLOSE(all_logits(p.head, p.rows, temper(p.head, p.theta0, 4), {}),
               Matrix(all_logits(p.head, p.rows, p.theta0, {}) / 4), 1e-15);
}

TEST(BestTemperature, IsTheLowestOnAGrid) {
  for (const Index outputs : {1, 3}) {
    SmallProblem p = small_problem({.rows = 200, .outputs = outputs});
    // Labels that the model gets mostly right, so that the best T is inside the range.
    const Matrix score = all_probabilities(p.head, p.rows, p.theta0, {});
    for (Index i = 0; i < p.rows.size(); ++i) {
      Index best = 0;
      score.row(i).maxCoeff(&best);
      if (i % 4 != 0) p.y[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(best);
    }
    const double T = best_temperature(p.head, p.theta0, p.rows, {});
    EXPECT_GT(T, 0.06);
    EXPECT_LT(T, 19);
    const double loss = mean_loss(p, temper(p.head, p.theta0, T));
    for (double other = 0.05; other < 20; other *= 1.01)
      EXPECT_LE(loss, mean_loss(p, temper(p.head, p.theta0, other)) + 1e-14);
    const double step = 1e-4;
    const double slope = mean_loss(p, temper(p.head, p.theta0, T * (1 + step))) -
                         mean_loss(p, temper(p.head, p.theta0, T * (1 - step)));
    EXPECT_LE(std::abs(slope / (2 * step)), 1e-6);
  }
}

TEST(BestTemperature, StaysInItsRange) {
  SmallProblem p = small_problem({.rows = 30});
  const Matrix score = all_probabilities(p.head, p.rows, p.theta0, {});
  for (Index i = 0; i < 30; ++i)
    p.y[static_cast<std::size_t>(i)] = score(i, 1) > 0.5 ? 1 : 0;
  EXPECT_EQ(best_temperature(p.head, p.theta0, p.rows, {}), 0.05);
  for (std::int32_t& y : p.y) y = 1 - y;
  EXPECT_EQ(best_temperature(p.head, p.theta0, p.rows, {}), 20);
}

TEST(ShiftToRate, HitsTheRateAndMovesOneIntercept) {
  for (const Index outputs : {1, 2, 4})
    for (int cls = 0; cls < classes_of(outputs); ++cls)
      for (const double rate : {0.0, 0.05, 0.31, 0.5, 1.0})
        for (const double threshold : {0.5, 0.2}) {
          const SmallProblem p = small_problem({.rows = 100, .outputs = outputs});
          const Vector theta =
              shift_to_rate(p.head, p.theta0, p.rows, threshold, cls, rate, {});
          EXPECT_CLOSE(rate_of(p, theta, threshold, cls), rate, 1e-12);
          const Vector change = theta - p.theta0;
          EXPECT_LE((change.array() != 0).count(), 1);
          const Index stride = p.head.inputs() + 1;
          for (Index j = 0; j < p.dim(); ++j) {
            if (j % stride == stride - 1) continue;
            EXPECT_EQ(change[j], 0);
          }
        }
}

TEST(ShiftToRate, LeavesARateThatIsThereAlone) {
  const SmallProblem p = small_problem({.rows = 100});
  const double rate = rate_of(p, p.theta0, 0.5, 1);
  EXPECT_EQ(shift_to_rate(p.head, p.theta0, p.rows, 0.5, 1, rate, {}), p.theta0);
}

TEST(ShiftToRate, ComesAsNearAsTiesAllow) {
  // Ten equal rows and five others above them: a rate of .5 cannot be had, 1/3 is nearest.
  std::vector<float> x(15, 0.0F);
  for (std::size_t i = 0; i < 5; ++i) x[i] = 1.0F;
  SmallProblem p;
  p.X = make_dense(x, 15, 1);
  p.head = LinearHead(1, 1);
  p.theta0 = Vector::Ones(2);
  p.rows = {.X = p.X.get(), .y = {}, .weight = {}, .subset = {}};
  EXPECT_CLOSE(rate_of(p, shift_to_rate(p.head, p.theta0, p.rows, 0.5, 1, 0.5, {}), 0.5, 1),
               1.0 / 3, 1e-12);
}

TEST(Simple, SaysWhatIsWrong) {
  const SmallProblem p = small_problem({.outputs = 3});
  const std::vector<Index> none = {99};
  EXPECT_ERROR(average_features(p.head, p.theta0, p.rows, none, {}), ErrorKind::bad_option,
               "feature is 99");
  EXPECT_ERROR(average_features(p.head, p.theta0, Rows{}, {}, {}), ErrorKind::bad_data,
               "no rows");
  EXPECT_ERROR(temper(p.head, p.theta0, 0), ErrorKind::bad_option, "temperature is 0");
  EXPECT_ERROR(temper(p.head, Vector::Zero(1), 1), ErrorKind::bad_shape, "theta has 1");
  Rows unlabelled = p.rows;
  unlabelled.y = {};
  EXPECT_ERROR(best_temperature(p.head, p.theta0, unlabelled, {}), ErrorKind::bad_data,
               "no row has a label");
  EXPECT_ERROR(shift_to_rate(p.head, p.theta0, p.rows, 0.5, 3, 0.5, {}),
               ErrorKind::bad_option, "cls is 3");
  EXPECT_ERROR(shift_to_rate(p.head, p.theta0, p.rows, 0.5, 1, 1.5, {}),
               ErrorKind::bad_option, "rate is 1.5");
  EXPECT_ERROR(shift_to_rate(p.head, p.theta0, p.rows, 0, 1, 0.5, {}),
               ErrorKind::bad_option, "threshold is 0");
}

}  // namespace
}  // namespace fmd
