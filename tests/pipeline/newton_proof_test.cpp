#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/curvature/hessian.h"
#include "fmd/fit/train.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/pipeline/debias.h"
#include "fmd/unlearn/newton.h"
#include "pipeline/tables.h"

// What Newton steps do to a model of real rows.
namespace fmd {
namespace {

test::Story demo_story(const Exec& exec) {
  test::Story story;
  const Task task = find_dataset("demo").task;
  story.parts = test::split_table(load_dataset("demo", ""), task, 1);
  story.model = train_model(story.parts.train, task, "", {}, exec).model;
  return story;
}

TEST(NewtonProofSlow, AsPrintedDestroysTheModelAndAutoKeepsTheRule) {
  ThreadPool pool;
  const Exec exec{.pool = &pool, .seed = 1, .progress = nullptr};
  const test::Story story = demo_story(exec);
  for (const std::string method : {"step", "remove", "replace"}) {
    DebiasOptions options;
    options.method = parse_method(method);
    options.repair = {"sex"};
    options.audit.replicates = 100;
    const DebiasRun chosen = test::debias_run(story.model, story.parts, options, exec);
    ASSERT_TRUE(chosen.found()) << method;
    const DebiasReport report = chosen.measure(chosen.model());
    const Candidate& taken = report.candidates[static_cast<std::size_t>(report.chosen)];
    EXPECT_GE(taken.accuracy_change.value, -0.01) << method;
    EXPECT_LT(taken.bias_change[0].high, 0) << method;
    RecordProperty(method + "_accuracy", std::to_string(taken.accuracy_change.value));
    RecordProperty(method + "_gap", std::to_string(taken.bias_change[0].value));
    options.newton.scale = parse_scale("as-printed");
    if (method != "step") options.newton.rows = 100;
    const DebiasRun printed = test::debias_run(story.model, story.parts, options, exec);
    EXPECT_FALSE(printed.found()) << method;
    const double change = printed.candidates()[0].accuracy_change.value;
    EXPECT_LT(change, method == "step" ? -0.2 : -0.05) << method;
    RecordProperty(method + "_as_printed_accuracy", std::to_string(change));
  }
}

// The step with s = 1/n against a refit to the optimum of F without the rows.
TEST(NewtonProofSlow, RemovingAgreesWithARefit) {
  ThreadPool pool;
  const Exec exec{.pool = &pool, .seed = 1, .progress = nullptr};
  const test::Story story = demo_story(exec);
  const Model& model = story.model;
  const Study train = make_study(model, story.parts.train, model.task, true, exec);
  const Study data = make_study(model, story.parts.repair, model.task, true, exec);
  const auto a = static_cast<std::size_t>(data.find("sex"));
  const StudyPairs pairs = make_flip_pairs(model, data, a, {});
  const PairSet set = pairs.set(data);
  const auto measure = make_measure("co");
  const BiasTarget target{.measure = measure.get(),
                          .data = {.pairs = &set, .rows = {}, .group = {}}};
  const double n = static_cast<double>(train.table.rows());
  InfluenceOptions influence_options;
  influence_options.curvature.l2 = model.note.l2;
  const InfluenceResult found = influence(linear_head(model), train.rows(), model.theta,
                                          {target}, influence_options, exec);
  const Vector change = found.change.col(0);
  const auto inverse = make_cholesky(
      hessian(linear_head(model), train.rows(), model.theta, {.l2 = model.note.l2}, exec));
  const auto gap = [&](const Vector& theta) {
    return evaluate(*measure, target.data, *model.head, theta, false, exec).value;
  };
  for (const Index count : {10, 50, 100}) {
    const std::vector<Index> rows =
        most_harmful({change.data(), static_cast<std::size_t>(change.size())}, count);
    std::vector<float> weight(train.y.size(), 1);
    for (const Index row : rows) weight[static_cast<std::size_t>(row)] = 0;
    Rows kept = train.rows();
    kept.weight = weight;
    const Vector refit =
        train_linear(linear_head(model), kept, {.l2 = model.note.l2, .rows_in_mean = n},
                     exec, model.theta)
            .theta;
    const Vector step = unlearn_rows(*model.head, model.theta, train.rows(rows), *inverse,
                                     {.step_scale = 1 / n}, exec)
                            .theta;
    const Vector moved = refit - model.theta, stepped = step - model.theta;
    EXPECT_GT(stepped.dot(moved) / (stepped.norm() * moved.norm()), 0.95) << count;
    EXPECT_NEAR(stepped.norm() / moved.norm(), 1, 0.2) << count;
    const std::string at = "_" + std::to_string(count);
    RecordProperty("size" + at, std::to_string(stepped.norm() / moved.norm()));
    RecordProperty("cosine" + at,
                   std::to_string(stepped.dot(moved) / (stepped.norm() * moved.norm())));
    const double before = gap(model.theta);
    RecordProperty("gap_refitted" + at, std::to_string(gap(refit) - before));
    RecordProperty("gap_stepped" + at, std::to_string(gap(step) - before));
    EXPECT_LT(gap(refit), before) << count;
    EXPECT_NEAR((gap(step) - before) / (gap(refit) - before), 1, 0.2) << count;
  }
}

}  // namespace
}  // namespace fmd
