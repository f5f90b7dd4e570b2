#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/parallel.h"
#include "fmd/pipeline/debias.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

DebiasOptions newton_options(const std::string& method) {
  DebiasOptions options;
  options.method = parse_method(method);
  options.repair = {"group"};
  options.max_accuracy_loss = 0.1;
  options.audit.replicates = 100;
  return options;
}

DebiasRun run_newton(const test::Story& story, const DebiasOptions& options,
                     const Exec& exec = {}) {
  return test::debias_run(story.model, story.parts, options, exec);
}

const char* const kNewtonMethods[] = {"step", "remove", "replace"};

TEST(DebiasNewton, EveryMethodLowersTheGapWithinTheRule) {
  const test::Story story = test::made_up_story();
  for (const std::string method : kNewtonMethods) {
    const DebiasRun run = run_newton(story, newton_options(method));
    ASSERT_TRUE(run.found()) << method;
    const DebiasReport report = run.measure(run.model());
    const Candidate& point = report.candidates[static_cast<std::size_t>(report.chosen)];
    EXPECT_EQ(point.kind, method);
    EXPECT_LT(point.bias_change[0].high, 0) << method;
    EXPECT_GE(point.accuracy_change.value, -0.1) << method;
    EXPECT_EQ(point.K > 0, method != "step");
    EXPECT_EQ(std::exp2(std::round(std::log2(point.s))), point.s) << "a power of 2";
    const auto json = nlohmann::json::parse(receipt_json(report, {}));
    EXPECT_EQ(json["chosen"]["s"], point.s);
    EXPECT_EQ(json["chosen"].contains("K"), method != "step");
    EXPECT_FALSE(json["chosen"].contains("lambda"));
    EXPECT_EQ(json["chosen"]["candidates"], report.candidates.size());
    EXPECT_EQ(json["solve"]["method"], method);
    EXPECT_EQ(json["solve"]["hessian_rows"], "train");
    EXPECT_LT(json["solve"]["residual"], 1e-5);
    for (const char* key : {"solver", "damping", "rcond", "iterations"})
      EXPECT_TRUE(json["solve"].contains(key)) << key;
  }
}

// At s = 1/n the step is what removing rows does; the first order predicts a small change.
TEST(DebiasNewton, FirstOrderForetellsASmallChange) {
  const test::Story story = test::made_up_story();
  for (const std::string method : kNewtonMethods) {
    DebiasOptions options = newton_options(method);
    options.newton.scale = parse_scale(method == "step" ? "1e-5" : "removal");
    if (method != "step") options.newton.rows = 30;
    const DebiasRun run = run_newton(story, options);
    ASSERT_EQ(run.candidates().size(), 1U);
    ASSERT_TRUE(run.found()) << method;
    const auto json = nlohmann::json::parse(receipt_json(run.measure(run.model()), {}));
    const auto& change = json["measures"]["test"]["change"]["group"]["co"];
    EXPECT_LT(change["measured"], 0);
    EXPECT_NEAR(change["predicted"], change["measured"],
                0.1 * std::abs(change["measured"].get<double>()));
    EXPECT_CLOSE(
        json["measures"]["test"]["predicted"]["group"]["co"]["value"].get<double>(),
        json["measures"]["test"]["before"]["attributes"][0]["measures"]["co"]["value"]
                .get<double>() +
            change["predicted"].get<double>(),
        1e-9);
  }
}

TEST(DebiasNewton, AtTakesTheVeryModelOfThatPoint) {
  const test::Story story = test::made_up_story();
  for (const std::string method : kNewtonMethods) {
    const DebiasRun all = run_newton(story, newton_options(method));
    const Candidate& point = all.candidates()[5];
    DebiasOptions options = newton_options(method);
    options.at.s = point.s;
    if (method != "step") options.at.rows = point.K;
    const DebiasRun one = run_newton(story, options);
    EXPECT_EQ(one.model().theta, point.theta) << method;
    // Also a point that is in no grid.
    options.at.s = 0.000123;
    const DebiasRun other = run_newton(story, options);
    EXPECT_NE(other.model().theta, point.theta);
    EXPECT_TRUE(other.found());
  }
}

TEST(DebiasNewton, HessianOfTheEditPartIsDampedAndNeedsNoTrainingRows) {
  const test::Story story = test::made_up_story();
  const DebiasRun run =
      test::debias_run_without(story.model, story.parts, newton_options("step"));
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.hessian_source, "edit pairs");
  EXPECT_GT(report.solve.damping, 0);
  DebiasOptions options = newton_options("step");
  options.hessian = HessianRows::data;
  EXPECT_EQ(run_newton(story, options).model().theta, run.model().theta);
}

// Many small steps with a new Hessian each come to the same place as fewer of them, and
// elsewhere than one step; small ones hardly differ.
TEST(DebiasNewton, RefreshTakesStepsWithANewHessian) {
  const test::Story story = test::made_up_story();
  const auto theta = [&](double s, int refresh) {
    DebiasOptions options = newton_options("step");
    options.newton.scale = parse_scale(std::to_string(s));
    options.newton.refresh = refresh;
    options.best_effort = true;
    return run_newton(story, options).candidates()[0].theta;
  };
  const Vector& start = story.model.theta;
  const Vector one = theta(1e-3, 1), eight = theta(1e-3, 8), sixteen = theta(1e-3, 16);
  EXPECT_GT((eight - one).norm(), 2 * (sixteen - eight).norm());
  EXPECT_NE(one, eight);
  const Vector near = theta(2e-5, 1) - start, nearer = theta(2e-5, 4) - start;
  EXPECT_LT((near - nearer).norm(), 0.05 * near.norm());
}

// H, ranking and gradients are those of the objective that was minimised.
TEST(DebiasNewton, WeightsOfTrainingRowsCount) {
  Table table = test::number_of_columns(4000, 5);
  Column weight{
      .name = "w", .kind = ColumnKind::number, .numbers = {}, .codes = {}, .levels = {}};
  for (Index i = 0; i < table.rows(); ++i)
    weight.numbers.push_back(i % 3 == 0 ? 0.0 : 1.0 + static_cast<double>(i % 5));
  table.columns.push_back(weight);
  Task task = test::made_up_task();
  task.weight = "w";
  test::Story story;
  story.parts = test::split_table(table, task, 3);
  story.model = train_model(story.parts.train, task, "", {}, {}).model;
  for (const std::string method : {"remove", "replace"}) {
    const DebiasRun run = run_newton(story, newton_options(method));
    ASSERT_TRUE(run.found()) << method;
    EXPECT_LT(run.measure(run.model()).relative_gradient, 1e-6) << method;
  }
}

TEST(DebiasNewton, ErrorsNameWhatIsMissing) {
  const test::Story story = test::made_up_story();
  for (const std::string method : {"remove", "replace"}) {
    EXPECT_ERROR(test::debias_run_without(story.model, story.parts, newton_options(method)),
                 ErrorKind::bad_option,
                 "method " + method + " takes rows out of the training rows");
  }
  const auto refused = [&](const std::string& method, const auto& change,
                           const std::string& words) {
    DebiasOptions options = newton_options(method);
    change(options);
    EXPECT_ERROR(run_newton(story, options), ErrorKind::bad_option, words);
  };
  refused(
      "step", [](DebiasOptions& o) { o.newton.rows = 5; }, "remove or replace");
  refused(
      "step", [](DebiasOptions& o) { o.newton.refresh = 0; }, "refresh is 0");
  refused(
      "step", [](DebiasOptions& o) { o.at.lambda = 1; }, "s=X for method step");
  refused(
      "remove", [](DebiasOptions& o) { o.at.s = 1; }, "s=X,K=N for method remove");
  refused(
      "solve", [](DebiasOptions& o) { o.at.s = 1; }, "step, remove or replace");
  DebiasOptions options = newton_options("remove");
  options.newton.rows = 100000;
  EXPECT_ERROR(run_newton(story, options), ErrorKind::bad_data, "100000 are asked for");
}

TEST(DebiasNewton, SameBitsForAnyNumberOfThreads) {
  const test::Story story = test::made_up_story();
  std::map<std::string, std::string> first;
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const Exec exec{.pool = &pool, .seed = 11, .progress = nullptr};
    for (const std::string method : kNewtonMethods) {
      const DebiasRun run = run_newton(story, newton_options(method), exec);
      const std::string receipt = receipt_json(run.measure(run.model()), {});
      if (threads == 1) first[method] = receipt;
      EXPECT_EQ(receipt, first[method]) << method << ", " << threads;
    }
  }
}

TEST(DebiasNewton, OptionsComeBackFromTheirJson) {
  DebiasOptions options = newton_options("replace");
  options.target = parse_limit("co:group=.00321");
  options.at = parse_at("s=0.0001220703125,K=300");
  options.hessian = HessianRows::data;
  options.gaps = {parse_limit("demographic_parity_soft:group=.1")};
  options.newton = {
      .scale = parse_scale("removal"), .rows = 77, .refresh = 4, .solver = Solver::cg};
  options.mu = 1e-17;
  options.best_effort = options.keep_rate = true;
  options.audit.intersections = false;
  const std::string text = options_json(options, ~std::uint64_t{0});
  const ParsedOptions parsed = parse_options(text, "receipt");
  EXPECT_EQ(options_json(parsed.options, parsed.seed), text);
  EXPECT_EQ(parsed.options.at.s, 0.0001220703125);
  EXPECT_ERROR(parse_options("{}", "receipt"), ErrorKind::bad_model, "receipt, options");
}

}  // namespace
}  // namespace fmd
