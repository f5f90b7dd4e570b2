#include "fmd/baselines/baseline.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "fmd/fit/train.h"
#include "support/close.h"

namespace fmd {
namespace {

// Rows whose first feature is the group, and a model trained on half of them.
struct Case {
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y, group;
  std::vector<Index> train, edit;
  std::unique_ptr<LinearHead> head;
  HeadProblem problem;
  BaselineRows asked;

  explicit Case(Index groups = 2, Index classes = 2) {
    const Index n = 1200;
    Rng rng(2, "baseline case");
    std::vector<float> values;
    for (Index i = 0; i < n; ++i) {
      group.push_back(static_cast<std::int32_t>(rng.below(groups)));
      const double a = rng.normal(), b = rng.normal() + 0.3 * group.back();
      const double u = rng.uniform();
      const double p = 1 / (1 + std::exp(-a - b - group.back() + 0.7));
      y.push_back(u < p ? 1 : classes > 2 && u > 0.8 ? 2 : 0);
      for (const double v : {static_cast<double>(group.back()), a, b})
        values.push_back(static_cast<float>(v));
      (i % 2 == 0 ? train : edit).push_back(i);
    }
    X = make_dense(values, n, 3);
    head = std::make_unique<LinearHead>(3, classes == 2 ? 1 : classes);
    problem.head = head.get();
    problem.l2 = 1e-3;
    problem.favorable = 1;
    problem.attribute_features = std::vector<Index>{0};
    problem.repaired = {{0, PairKind::flip}};
    problem.edit.rows = {X.get(), y, {}, edit};
    problem.edit.attributes = {{"group", group, groups}};
    problem.train = problem.edit;
    problem.train->rows.subset = train;
    asked = {problem.edit.rows, group};
    problem.theta = train_linear(*head, problem.train->rows, {.l2 = 1e-3}, {}).theta;
  }

  [[nodiscard]] double accuracy(const Answers& a) const {
    double sum = 0;
    for (Index i = 0; i < a.decision.rows(); ++i)
      sum += a.decision(i, y[static_cast<std::size_t>(edit[static_cast<std::size_t>(i)])]);
    return sum / static_cast<double>(a.decision.rows());
  }
};

TEST(Baselines, EveryMethodAnswersTheRowsItIsGiven) {
  const Case c;
  const double base =
      c.accuracy(head_answers(*c.head, c.problem.theta, 0.5, c.problem.edit.rows, {}));
  for (const BaselineInfo& info : baselines()) {
    if (info.network) continue;  // with PyTorch: tests/cli/torch_training.py
    const auto candidates = fit_baseline(info.name, c.problem, {});
    ASSERT_FALSE(candidates.empty()) << info.name;
    for (const BaselineCandidate& candidate : candidates) {
      const Answers a = candidate.answer(c.asked, {});
      ASSERT_EQ(a.p.rows(), std::ssize(c.edit)) << info.name;
      ASSERT_EQ(a.decision.rows(), std::ssize(c.edit));
      for (const Matrix* m : {&a.p, &a.decision}) {
        EXPECT_LE((m->rowwise().sum().array() - 1).abs().maxCoeff(), 1e-12) << info.name;
        EXPECT_GE(m->minCoeff(), 0) << info.name;
      }
      EXPECT_GT(c.accuracy(a), base - 0.25) << info.name << " " << candidate.setting;
      ThreadPool pool(2);
      EXPECT_EQ(candidate.answer(c.asked, {.pool = &pool}).p, a.p) << info.name;
    }
  }
}

TEST(Baselines, SayWhyTheyDoNotApply) {
  const Case three_groups(3), three_classes(2, 3);
  for (const char* name : {"eqodd", "ceqodd", "reject", "influence-reweigh"}) {
    EXPECT_ERROR(fit_baseline(name, three_groups.problem, {}), ErrorKind::unsupported,
                 "needs an attribute of two values, there are 3");
    EXPECT_ERROR(fit_baseline(name, three_classes.problem, {}), ErrorKind::unsupported,
                 "needs two classes, there are 3");
  }
  for (const char* name : {"reweigh", "ppif"}) {
    EXPECT_FALSE(fit_baseline(name, three_groups.problem, {}).empty());
    EXPECT_FALSE(fit_baseline(name, three_classes.problem, {}).empty());
  }
  for (const char* name : {"group-thresholds", "dfr"})
    EXPECT_FALSE(fit_baseline(name, three_groups.problem, {}).empty());
  Case c;
  const BackendFiles nowhere = {{"torch", {"no/such/fmd_torch.so"}}};
  EXPECT_ERROR(fit_baseline("lff", c.problem, {.backends = &nowhere}),
               ErrorKind::unsupported, "method lff needs the plug-in fmd_torch.so");
  c.problem.train.reset();
  EXPECT_ERROR(fit_baseline("reweigh", c.problem, {}), ErrorKind::unsupported,
               "trained on");
  EXPECT_ERROR(fit_baseline("magic", c.problem, {}), ErrorKind::bad_option,
               "methods: reweigh, influence-reweigh, eqodd");
}

TEST(Baselines, LotsAreDrawnByTheSeed) {
  Answers a;
  a.decision.resize(20000, 2);
  for (Index i = 0; i < a.decision.rows(); ++i) a.decision.row(i) << 0.7, 0.3;
  const std::vector<std::int32_t> drawn = draw_decisions(a, 1);
  const auto yes = std::count(drawn.begin(), drawn.end(), 1);
  EXPECT_NEAR(static_cast<double>(yes) / 20000, 0.3, 0.015);
  EXPECT_EQ(draw_decisions(a, 1), drawn);
  EXPECT_NE(draw_decisions(a, 2), drawn);
  a.decision.row(0) << 0, 1;
  a.decision.row(1) << 1, 0;
  EXPECT_EQ(draw_decisions(a, 3)[0], 1);
  EXPECT_EQ(draw_decisions(a, 3)[1], 0);
}

// On the rows that it was fitted on equalised odds holds in expectation.
TEST(Baselines, EqualisedOddsHoldsThroughTheInterface) {
  for (const int favorable : {0, 1}) {
    Case c;
    c.problem.favorable = favorable;
    const Answers a = fit_baseline("eqodd", c.problem, {})[0].answer(c.asked, {});
    double sum[2][2] = {}, count[2][2] = {};
    for (Index i = 0; i < a.decision.rows(); ++i) {
      const auto row = static_cast<std::size_t>(c.edit[static_cast<std::size_t>(i)]);
      sum[c.group[row]][c.y[row]] += a.decision(i, favorable);
      count[c.group[row]][c.y[row]] += 1;
    }
    for (int label = 0; label < 2; ++label)
      EXPECT_NEAR(sum[0][label] / count[0][label], sum[1][label] / count[1][label], 1e-9);
  }
}

}  // namespace
}  // namespace fmd
