#include "fmd/metrics/bias_measure.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "support/close.h"

namespace fmd {
namespace {

const std::vector<std::string> kOnPairs{"co", "co_tv", "consistency"};
const std::vector<std::string> kOnRows{"demographic_parity_soft", "equal_opportunity_soft",
                                       "false_positive_soft", "loss"};

// Rows and their flips (column 0 turned) with labels, weights and groups, some unknown.
struct MeasureProblem {
  std::unique_ptr<Features> X, Xbar;
  std::vector<std::int32_t> y, group;
  std::vector<float> weight;
  PairSet pairs;
  Index outputs;
  Vector theta;

  MeasureProblem(Index rows, Index cols, Index outputs_, std::int32_t groups,
                 std::uint64_t seed)
      : outputs(outputs_), theta(outputs_ * (cols + 1)) {
    Rng rng(seed, "measure");
    std::vector<float> x(static_cast<std::size_t>(rows * cols));
    for (float& value : x) value = static_cast<float>(rng.normal());
    std::vector<float> xbar = x;
    for (std::size_t i = 0; i < xbar.size(); i += static_cast<std::size_t>(cols))
      xbar[i] += 1;
    for (Index i = 0; i < rows; ++i) {
      y.push_back(static_cast<std::int32_t>(rng.below(classes_of(outputs) + 1)) - 1);
      group.push_back(static_cast<std::int32_t>(rng.below(groups + 1)) - 1);
      weight.push_back(static_cast<float>(0.5 + rng.uniform()));
      pairs.unit.push_back(i);
    }
    for (double& value : theta) value = rng.normal();
    X = make_dense(std::move(x), rows, cols);
    Xbar = make_dense(std::move(xbar), rows, cols);
    pairs.c = {.X = X.get(), .y = y, .weight = {}, .subset = {}};
    pairs.cbar = {.X = Xbar.get(), .y = y, .weight = {}, .subset = {}};
    pairs.weight = weight;
  }

  [[nodiscard]] LinearHead head() const { return {X->cols(), outputs}; }
  [[nodiscard]] MeasureData data() const {
    return {.pairs = &pairs,
            .rows = {.X = X.get(), .y = y, .weight = weight, .subset = {}},
            .group = group};
  }
  [[nodiscard]] MeasureValue of(const BiasMeasure& measure, const Vector& at, bool gradient,
                                const Exec& exec = {}) const {
    return evaluate(measure, data(), head(), at, gradient, exec);
  }
};

Vector numerical_gradient(const MeasureProblem& problem, const BiasMeasure& measure) {
  const double h = 1e-5;
  Vector gradient(problem.theta.size());
  for (Index j = 0; j < gradient.size(); ++j) {
    Vector up = problem.theta, down = problem.theta;
    up(j) += h;
    down(j) -= h;
    gradient(j) =
        (problem.of(measure, up, false).value - problem.of(measure, down, false).value) /
        (2 * h);
  }
  return gradient;
}

void check_gradient(const MeasureProblem& problem, const std::string& name,
                    const MeasureOptions& options) {
  const auto measure = make_measure(name, options);
  EXPECT_EQ(measure->name(), name);
  const Vector gradient = problem.of(*measure, problem.theta, true).gradient;
  EXPECT_CLOSE(gradient, numerical_gradient(problem, *measure), 1e-6)
      << name << ", outputs " << problem.outputs << ", favorable " << options.favorable;
}

TEST(BiasMeasure, GradientsOnPairsAgreeWithDifferences) {
  for (const Index outputs : {1, 2, 3}) {
    const MeasureProblem problem(60, 3, outputs, 2, 4);
    for (const auto& name : kOnPairs) check_gradient(problem, name, {});
  }
}

TEST(BiasMeasure, GradientsOnRowsAgreeWithDifferences) {
  for (const Index outputs : {1, 2, 3}) {
    for (const std::int32_t groups : {2, 3}) {
      const MeasureProblem problem(60, 3, outputs, groups, 5);
      for (const auto& name : kOnRows)
        for (const int favorable : {0, 1})
          for (const double sharpen : {1.0, 4.0})
            check_gradient(problem, name,
                           {.favorable = favorable, .groups = groups, .sharpen = sharpen});
    }
  }
}

TEST(BiasMeasure, DerivativesByTheSumsAgreeWithDifferences) {
  std::vector<double> s{3, 10, 8, 20, 1, 4};
  const auto measure = make_measure("demographic_parity_soft", {.groups = 3});
  std::vector<double> dF(6), unused(6);
  const double value = measure->value(s, dF);
  EXPECT_CLOSE(value * value,
               (10 * 0.09 + 20 * 0.16 + 4 * 0.0625) / 34 - std::pow(12.0 / 34, 2), 1e-12);
  for (std::size_t k = 0; k < 6; ++k) {
    auto up = s, down = s;
    up[k] += 1e-4;
    down[k] -= 1e-4;
    EXPECT_NEAR(dF[k], (measure->value(up, unused) - measure->value(down, unused)) / 2e-4,
                1e-9);
  }
}

// One row of logits at a time: values that can be written down.
double value_of(const std::string& name, const std::vector<MeasureRow>& rows,
                const MeasureOptions& options = {}) {
  const auto measure = make_measure(name, options);
  std::vector<double> s(static_cast<std::size_t>(measure->statistics())), dF(s.size());
  for (const MeasureRow& row : rows) measure->add(row, s);
  return measure->value(s, dF);
}

TEST(BiasMeasure, PairsByHand) {
  const std::vector<double> z{std::log(3)}, zbar{0};  // p1 = .75 and .5
  const MeasureRow sigmoid{.z = z, .zbar = zbar};
  EXPECT_CLOSE(value_of("co", {sigmoid}), 0.25, 1e-14);
  EXPECT_CLOSE(value_of("co_tv", {sigmoid}), 0.25, 1e-14);
  EXPECT_CLOSE(value_of("consistency", {sigmoid}), 0.125, 1e-14);
  const std::vector<double> a{0, std::log(2), 0},
      b{0, 0, std::log(2)};  // (1 2 1) / 4, (1 1 2) / 4
  const MeasureRow y0{.z = a, .zbar = b, .y = 0},
      y1{.z = a, .zbar = b, .y = 1, .weight = 3};
  EXPECT_CLOSE(value_of("co", {y0, y1}), 0.75 * 0.25, 1e-14);
  EXPECT_CLOSE(value_of("co_tv", {y0}), 0.25, 1e-14);
  EXPECT_CLOSE(value_of("consistency", {y1}), 0.125, 1e-14);
}

TEST(BiasMeasure, RowsByHand) {
  const std::vector<double> high{std::log(3)}, low{-std::log(3)};  // p1 = .75 and .25
  const MeasureRow a{.z = high, .zbar = {}, .y = 1, .group = 0},
      b{.z = low, .zbar = {}, .y = 1, .group = 1};
  const MeasureRow c{.z = low, .zbar = {}, .y = 0, .group = 0},
      d{.z = low, .zbar = {}, .y = 0, .group = 1};
  EXPECT_CLOSE(value_of("demographic_parity_soft", {a, b}), 0.5, 1e-14);
  EXPECT_CLOSE(value_of("demographic_parity_soft", {a, b}, {.favorable = 0}), -0.5, 1e-14);
  EXPECT_CLOSE(value_of("demographic_parity_soft", {a, b, c, d}), 0.25, 1e-14);
  EXPECT_CLOSE(value_of("equal_opportunity_soft", {a, b, c, d}), 0.5, 1e-14);
  EXPECT_CLOSE(value_of("false_positive_soft", {a, b, c, d}), 0, 1e-14);
  EXPECT_CLOSE(value_of("demographic_parity_soft", {a, b}, {.sharpen = 2}), 0.8,
               1e-14);  // .9 - .1
  EXPECT_CLOSE(value_of("loss", {a, c}), -std::log(0.75), 1e-14);
}

TEST(BiasMeasure, EqualSidesHaveNoGradient) {
  const std::vector<double> z{0.3, -0.2, 0.1};
  const MeasureRow row{.z = z, .zbar = z, .y = 1};
  for (const auto& name : kOnPairs) {
    std::vector<double> dz(3), dzbar(3);
    make_measure(name)->dlogits(row, std::vector<double>{1, 0}, dz, dzbar);
    EXPECT_EQ(dz, std::vector<double>(3, 0.0)) << name;
    EXPECT_EQ(dzbar, std::vector<double>(3, 0.0)) << name;
  }
}

TEST(BiasMeasure, ASigmoidIsASoftmaxOfTwoClasses) {
  const MeasureProblem one(200, 3, 1, 2, 8);
  MeasureProblem two(200, 3, 2, 2, 8);
  two.theta.setZero();
  two.theta.tail(4) = one.theta;
  for (const auto& names : {kOnPairs, kOnRows})
    for (const auto& name : names) {
      const auto measure = make_measure(name);
      const MeasureValue a = one.of(*measure, one.theta, true),
                         b = two.of(*measure, two.theta, true);
      EXPECT_CLOSE(a.value, b.value, 1e-12) << name;
      EXPECT_CLOSE(b.gradient.tail(4), a.gradient, 1e-10) << name;
    }
}

TEST(BiasMeasure, ManyClassesDoNotOverflow) {
  const MeasureProblem problem(20, 2, 40, 2, 3);
  check_gradient(problem, "co_tv", {});
  check_gradient(problem, "demographic_parity_soft", {.favorable = 33});
}

TEST(Evaluate, ThreadsDoNotChangeABit) {
  const MeasureProblem problem(9000, 3, 3, 2, 6);
  for (const char* name : {"co", "equal_opportunity_soft"}) {
    const auto measure = make_measure(name);
    const MeasureValue alone = problem.of(*measure, problem.theta, true);
    for (const int threads : {1, 2, 4}) {
      ThreadPool pool(threads);
      const MeasureValue value = problem.of(*measure, problem.theta, true, {.pool = &pool});
      EXPECT_EQ(value.value, alone.value);
      EXPECT_EQ(value.gradient, alone.gradient);
    }
  }
}

// Cut into parts of some pairs each.
class Thirds final : public PairParts {
 public:
  explicit Thirds(const PairSet& whole) : whole_(whole) {}
  [[nodiscard]] Index count() const override { return 3; }
  [[nodiscard]] std::shared_ptr<const PairSet> part(Index number) const override {
    struct Owner {
      std::vector<Index> rows;
      PairSet set;
    };
    auto owner = std::make_shared<Owner>();
    for (Index i = number; i < whole_.size(); i += 3) {
      owner->rows.push_back(i);
      owner->set.weight.push_back(whole_.weight[static_cast<std::size_t>(i)]);
    }
    owner->set.unit = owner->rows;
    owner->set.c = whole_.c;
    owner->set.cbar = whole_.cbar;
    owner->set.c.subset = owner->set.cbar.subset = owner->rows;
    return {owner, &owner->set};
  }

 private:
  const PairSet& whole_;
};

TEST(Evaluate, PartsAddUpToTheWhole) {
  const MeasureProblem problem(500, 4, 3, 2, 5);
  const Thirds thirds(problem.pairs);
  for (const std::string& name : kOnPairs) {
    const auto measure = make_measure(name);
    const MeasureValue whole = problem.of(*measure, problem.theta, true);
    MeasureData data;
    data.parts = &thirds;
    const MeasureValue parts =
        evaluate(*measure, data, problem.head(), problem.theta, true, {});
    EXPECT_NEAR(parts.value, whole.value, 1e-14) << name;
    EXPECT_LT((parts.gradient - whole.gradient).norm(), 1e-14) << name;
  }
}

TEST(Evaluate, ASubsetIsMeasuredAlone) {
  const MeasureProblem problem(5000, 3, 1, 2, 7);
  std::vector<Index> some;
  for (Index i = 4999; i >= 0; i -= 3) some.push_back(i);
  MeasureData data = problem.data();
  data.rows.subset = some;
  const auto measure = make_measure("demographic_parity_soft");
  std::vector<double> s(4), dF(4);
  const Matrix z = all_logits(problem.head(), data.rows, problem.theta, {});
  for (Index i = 0; i < z.rows(); ++i) {
    const auto row = static_cast<std::size_t>(some[static_cast<std::size_t>(i)]);
    measure->add({.z = {z.row(i).data(), 1},
                  .zbar = {},
                  .group = problem.group[row],
                  .weight = problem.weight[row]},
                 s);
  }
  EXPECT_CLOSE(evaluate(*measure, data, problem.head(), problem.theta, false, {}).value,
               measure->value(s, dF), 1e-12);
}

RC_GTEST_PROP(BiasMeasure, SumsOfHalvesAreTheSumOfTheWhole, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const MeasureProblem problem(30, 2, 3, 3, seed);
  const auto measure = make_measure("demographic_parity_soft", {.groups = 3});
  const Matrix z = all_logits(problem.head(), problem.data().rows, problem.theta, {});
  std::vector<double> whole(6), left(6), right(6);
  for (Index i = 0; i < z.rows(); ++i) {
    const MeasureRow row{.z = {z.row(i).data(), 3},
                         .zbar = {},
                         .group = problem.group[static_cast<std::size_t>(i)]};
    measure->add(row, whole);
    measure->add(row, i < 15 ? left : right);
  }
  for (std::size_t k = 0; k < 6; ++k)
    RC_ASSERT(std::abs(whole[k] - left[k] - right[k]) < 1e-12);
}

TEST(MakeMeasure, UnknownNamesAndOptions) {
  EXPECT_ERROR(make_measure("fairness"), ErrorKind::bad_option, "no measure fairness");
  EXPECT_ERROR(make_measure("fairness"), ErrorKind::bad_option, "co, co_tv, consistency");
  EXPECT_ERROR(make_measure("co", {.sharpen = 0}), ErrorKind::bad_option, "sharpen is 0");
  EXPECT_ERROR(make_measure("co", {.groups = 1}), ErrorKind::bad_option, "groups is 1");
}

TEST(Evaluate, WrongUseIsNamed) {
  const MeasureProblem problem(30, 2, 1, 3, 1);
  const Vector& theta = problem.theta;
  MeasureData data = problem.data();
  const auto run = [&](const BiasMeasure& m, const Vector& at) {
    return evaluate(m, data, problem.head(), at, false, {});
  };
  EXPECT_ERROR(run(*make_measure("co"), Vector::Zero(5)), ErrorKind::bad_shape,
               "theta has 5 entries, needs 3");
  EXPECT_ERROR(run(*make_measure("demographic_parity_soft"), theta), ErrorKind::bad_shape,
               "group 2 of 2");
  data.pairs = nullptr;
  EXPECT_ERROR(run(*make_measure("co"), theta), ErrorKind::bad_option,
               "is measured on pairs");
  data.group = {};
  EXPECT_ERROR(run(*make_measure("demographic_parity_soft"), theta), ErrorKind::bad_data,
               "no group");
  data.rows.X = nullptr;
  EXPECT_ERROR(run(*make_measure("loss"), theta), ErrorKind::bad_option, "no rows");
}

}  // namespace
}  // namespace fmd
