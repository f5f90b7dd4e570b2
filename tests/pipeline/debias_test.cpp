#include "fmd/pipeline/debias.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"
#include "pipeline/tables.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

struct Story {
  test::Parts parts;
  Model model;
};

Story made_up_story() {
  Story story;
  story.parts =
      test::split_table(test::number_of_columns(4000, 5), test::made_up_task(), 3);
  story.model = train_model(story.parts.train, story.parts.task, "", {}, {}).model;
  return story;
}

DebiasOptions quick() {
  DebiasOptions options;
  options.repair = {"group"};
  options.points = 12;
  options.audit.replicates = 100;
  return options;
}

const Interval& co(const DebiasReport& report, std::size_t contender) {
  return report.test[contender].audit->find("group")->flip->co;
}

TEST(Debias, TakesTheFlipGapOutAndReportsOnRowsThatNothingWasChosenOn) {
  const Story story = made_up_story();
  const DebiasRun run(test::debias_input(story.model, story.parts), quick(), {});
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  EXPECT_GT(co(report, 0).value, 0.1);
  EXPECT_LT(co(report, 1).value, 1e-4);
  EXPECT_EQ(report.test[0].audit->rows, story.parts.test.rows());
  EXPECT_GT(report.accuracy_change.value, -0.06);
}

TEST(Debias, ControlsStandBesideTheResult) {
  const Story story = made_up_story();
  const DebiasRun run(test::debias_input(story.model, story.parts), quick(), {});
  const DebiasReport report = run.measure(run.model());
  std::map<std::string, const Contender*> by_name;
  for (const Contender& c : report.test) by_name[c.name] = &c;
  EXPECT_EQ(by_name.at("column_averaged")->audit->find("group")->flip->co.value, 0);
  EXPECT_EQ(by_name.at("retrained_without_column")->audit->find("group")->reads, Reads::no);
  EXPECT_FALSE(
      by_name.at("retrained_without_column")->audit->find("group")->flip.has_value());
  // Dividing all logits changes no decision at a threshold of one half.
  EXPECT_EQ(by_name.at("tempered")->audit->accuracy.value,
            by_name.at("before")->audit->accuracy.value);
  EXPECT_TRUE(by_name.at("intercept_shift")->audit.has_value());
}

// Also where rows are sparse and a feature of weight 0 stands in one side of a pair only.
TEST(Debias, AnAveragedColumnHasNoFlipGapAtAll) {
  const Task task = find_dataset("demo").task;
  const test::Parts parts = test::split_table(load_dataset("demo", ""), task, 1);
  const Model model = train_model(parts.train, task, "", {}, {}).model;
  DebiasOptions options = quick();
  options.repair = {"sex"};
  options.method = "average-column";
  options.max_accuracy_loss = 1;
  const DebiasRun run(test::debias_input(model, parts), options, {});
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.test[1].audit->find("sex")->flip->co.value, 0);
}

// Near the original the path's linear forecast of the gap is right; it is not the measured
// figure.
TEST(Debias, TheReceiptHoldsWhatThePathForetold) {
  const Story story = made_up_story();
  DebiasOptions options = quick();
  options.method = "path";
  const DebiasRun all(test::debias_input(story.model, story.parts), options, {});
  options.at.lambda = all.points()[3].lambda;
  const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
  const DebiasReport report = run.measure(run.model());
  const double before = co(report, 0).value, after = co(report, 1).value;
  EXPECT_LT(after, before);
  EXPECT_NEAR(report.predicted_test[0].value, after, 0.05 * before);
  EXPECT_NE(report.predicted_test[0].value, after);
  const auto json = nlohmann::json::parse(receipt_json(report, {}));
  EXPECT_EQ(json["measures"]["test"]["predicted"]["group"]["co"]["value"],
            report.predicted_test[0].value);
}

TEST(Debias, WithoutTrainingRowsTheRetrainedControlIsNullWithItsReason) {
  const Story story = made_up_story();
  DebiasInput input = test::debias_input(story.model, story.parts);
  input.train.reset();
  const DebiasRun run(std::move(input), quick(), {});
  const DebiasReport report = run.measure(run.model());
  const auto json = nlohmann::json::parse(receipt_json(report, {}));
  EXPECT_TRUE(json["controls"]["retrained_without_column"]["value"].is_null());
  EXPECT_EQ(json["controls"]["retrained_without_column"]["reason"],
            "no training rows were given (--train)");
  EXPECT_EQ(json["solve"]["hessian_rows"], "edit");
}

TEST(Debias, EveryMethodAndTermLowersTheGap) {
  const Story story = made_up_story();
  for (const std::string method : {"solve", "path", "average-column"}) {
    DebiasOptions options = quick();
    options.method = method;
    options.max_accuracy_loss = 0.1;
    const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
    ASSERT_TRUE(run.found()) << method;
    EXPECT_LT(co(run.measure(run.model()), 1).value, 1e-3) << method;
  }
  DebiasOptions options = quick();
  options.fit = 0.5;
  options.gaps = {parse_limit("demographic_parity_soft:group=1")};
  options.max_accuracy_loss = 0.2;
  const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
  ASSERT_TRUE(run.found());
  EXPECT_LT(co(run.measure(run.model()), 1).value, co(run.measure(run.model()), 0).value);
}

TEST(Debias, SeveralAttributesAreRepairedTogether) {
  const Story story = made_up_story();
  DebiasOptions options = quick();
  options.repair.clear();
  options.target = parse_limit("co=.005");
  const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.repaired, (std::vector<std::string>{"group", "third"}));
  for (const char* name : {"group", "third"})
    EXPECT_LE(report.test[1].audit->find(name)->flip->co.value, 0.005) << name;
}

TEST(Debias, KeepRateKeepsTheShareOfFavourableAnswers) {
  const Story story = made_up_story();
  DebiasOptions options = quick();
  options.keep_rate = true;
  options.max_accuracy_loss = 0.1;
  const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
  ASSERT_TRUE(run.found());
  const Study study =
      make_study(story.model, story.parts.repair, story.model.task, true, {});
  const auto rate = [&](const Model& model) {
    const Scored scored = score(model, study, {}, {});
    return static_cast<double>(
               std::count(scored.decision.begin(), scored.decision.end(), 1)) /
           static_cast<double>(scored.rows());
  };
  EXPECT_NEAR(rate(run.model()), rate(story.model), 0.02);
}

TEST(Debias, ATargetThatNothingMeetsFindsNoCandidate) {
  const Story story = made_up_story();
  DebiasOptions options = quick();
  options.max_accuracy_loss = 0;  // the repair costs accuracy on these rows
  options.method = "average-column";
  const DebiasRun run(test::debias_input(story.model, story.parts), options, {});
  EXPECT_FALSE(run.found());
  EXPECT_EQ(run.model().theta, story.model.theta);
  options.best_effort = true;
  EXPECT_TRUE(DebiasRun(test::debias_input(story.model, story.parts), options, {}).found());
}

TEST(Debias, AnAttributeThatIsNoInputIsAnError) {
  const Story story = made_up_story();
  const Model without = train_without(story.model, story.parts.train, {"group"}, {}).model;
  EXPECT_ERROR(DebiasRun(test::debias_input(without, story.parts), quick(), {}),
               ErrorKind::attribute_not_read, "the model does not read group");
}

TEST(Debias, AtLambdaGivesTheVeryModelOfThatPoint) {
  const Story story = made_up_story();
  const DebiasRun all(test::debias_input(story.model, story.parts), quick(), {});
  for (const std::size_t at : {std::size_t{2}, std::size_t{7}}) {
    DebiasOptions options = quick();
    options.at.lambda = all.points()[at].lambda;
    const DebiasRun one(test::debias_input(story.model, story.parts), options, {});
    EXPECT_EQ(one.model().theta, all.points()[at].theta);
    const DebiasReport report = one.measure(one.model());
    const Candidate& point = report.points[static_cast<std::size_t>(report.chosen)];
    EXPECT_EQ(point.accuracy.value, all.points()[at].accuracy.value);
    EXPECT_EQ(point.bias[0].high, all.points()[at].bias[0].high);
  }
}

TEST(Debias, ParametersAndFiguresAreTheSameBitsForAnyNumberOfThreads) {
  const Story story = made_up_story();
  std::string first;
  Vector theta;
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const Exec exec{.pool = &pool, .seed = 11, .progress = nullptr};
    const Model model =
        train_model(story.parts.train, story.parts.task, "", {}, exec).model;
    const DebiasRun run(test::debias_input(model, story.parts), quick(), exec);
    const std::string receipt = receipt_json(run.measure(run.model()), {});
    if (first.empty()) {
      first = receipt;
      theta = run.model().theta;
    }
    EXPECT_EQ(run.model().theta, theta) << threads;
    EXPECT_EQ(receipt, first) << threads;
  }
}

TEST(Debias, SavedFilesRepeatAndUndoRestoresEveryByte) {
  const Story story = made_up_story();
  const test::Folder folder;
  const Bytes original = model_bytes(story.model);
  Bytes written[2];
  for (int k = 0; k < 2; ++k) {
    const auto out = folder.path() / ("out" + std::to_string(k));
    const DebiasRun run(test::debias_input(story.model, story.parts), quick(), {});
    save_debias(run, original, out, {});
    const FileView view = FileView::open(out);
    written[k].assign(view.bytes().begin(), view.bytes().end());
    EXPECT_EQ(undo_bytes(DebiasFiles(out).receipt), original);
  }
  EXPECT_EQ(written[0], written[1]);
  EXPECT_NE(written[0], original);
}

TEST(Debias, ReceiptsHoldNeitherRowsNorWeights) {
  Story story = made_up_story();
  Column& third = story.parts.test.columns[2];  // a value that only three persons have
  for (auto& code : third.codes) code = std::min(code, 1);
  for (std::size_t i = 0; i < 3; ++i) third.codes[i] = 2;
  const DebiasRun run(test::debias_input(story.model, story.parts), quick(), {});
  const auto json = nlohmann::json::parse(receipt_json(run.measure(run.model()), {}));
  EXPECT_EQ(json["schema"], 1);
  for (const char* key : {"model", "data", "options", "chosen", "solve", "measures",
                          "moved", "controls", "attribute_use", "versions", "run"})
    EXPECT_TRUE(json.contains(key)) << key;
  // Groups of fewer than ten rows keep their name only.
  Index masked = 0;
  for (const auto& group : json["measures"]["test"]["after"]["attributes"][1]["groups"]) {
    if (!group["rows"].is_null()) {
      EXPECT_GE(group["rows"], 10);
    } else {
      ++masked;
      EXPECT_TRUE(group["selection_rate"].is_null());
      EXPECT_EQ(group["reason"], "fewer than 10 rows");
    }
  }
  EXPECT_EQ(masked, 1);
  const std::string text = json.dump();
  EXPECT_EQ(text.find("theta"), std::string::npos);
  EXPECT_EQ(text.find("row_hashes"), std::string::npos);
}

}  // namespace
}  // namespace fmd
