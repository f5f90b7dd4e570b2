#include "fmd/pipeline/debias.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

DebiasOptions quick_options() {
  DebiasOptions options;
  options.repair = {"group"};
  options.points = 12;
  options.risk = 0.5;  // few rows: by the point estimate
  options.max_accuracy_loss = 0.1;
  options.audit.replicates = 100;
  return options;
}

const Interval& co(const DebiasReport& report, std::size_t contender) {
  return report.test[contender].audit->find("group")->flip->co;
}

TEST(Debias, TakesTheFlipGapOutAndReportsOnRowsThatNothingWasChosenOn) {
  const test::Story story = test::made_up_story();
  const DebiasRun run = test::debias_run(story.model, story.parts, quick_options());
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  EXPECT_GT(co(report, 0).value, 0.1);
  EXPECT_LT(co(report, 1).value, 1e-4);
  EXPECT_EQ(report.test[0].audit->rows, story.parts.test.rows());
  EXPECT_GT(report.accuracy_change.value, -0.06);
}

TEST(Debias, ControlsStandBesideTheResult) {
  const test::Story story = test::made_up_story();
  const DebiasRun run = test::debias_run(story.model, story.parts, quick_options());
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

// The encoder of a model, with the number of times that rows were flipped. It stands for a
// backbone that must run again on flipped rows, where each of these passes is dear.
class CountedBackbone final : public Backbone {
 public:
  CountedBackbone(std::shared_ptr<const Backbone> base, int& flips)
      : base_(std::move(base)), flips_(flips) {}
  [[nodiscard]] Index cols() const override { return base_->cols(); }
  [[nodiscard]] Hash hash() const override { return base_->hash(); }
  [[nodiscard]] const InputSchema& inputs() const override { return base_->inputs(); }
  [[nodiscard]] const ColumnMap* columns() const override { return base_->columns(); }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override {
    return base_->features(inputs, rows, exec);
  }
  [[nodiscard]] std::unique_ptr<Features> flipped(const Inputs* inputs, const Features& X,
                                                  const Attribute& attribute,
                                                  const PairPlan& plan,
                                                  const Exec& exec) const override {
    ++flips_;
    return base_->flipped(inputs, X, attribute, plan, exec);
  }

 private:
  std::shared_ptr<const Backbone> base_;
  int& flips_;
};

// Two attributes on DATA and on the test rows: each is flipped once, although candidates,
// predictions, the original, the repaired model and the controls all need it. The repaired
// model has a backbone of its own, as one that was read back from a file.
TEST(Debias, FlipsEachAttributeOfATableOnce) {
  const test::Story story = test::made_up_story();
  int flips = 0;
  const auto counted = [&](Model model) {
    model.backbone = std::make_shared<const CountedBackbone>(story.model.backbone, flips);
    return model;
  };
  DebiasOptions options = quick_options();
  options.audit.replicates = 50;
  const DebiasRun run = test::debias_run(counted(story.model), story.parts, options);
  ASSERT_TRUE(run.found());
  (void)run.measure(counted(run.model()));
  EXPECT_EQ(flips, 4);
}

// Also where rows are sparse and a feature of weight 0 stands in one side of a pair only.
TEST(Debias, AnAveragedColumnHasNoFlipGapAtAll) {
  const Task task = find_dataset("demo").task;
  const test::Parts parts = test::split_table(load_dataset("demo", ""), task, 1);
  const Model model = train_model(parts.train, task, "", {}, {}).model;
  DebiasOptions options = quick_options();
  options.repair = {"sex"};
  options.method = RepairMethod::average_column;
  options.max_accuracy_loss = 1;
  const DebiasRun run = test::debias_run(model, parts, options);
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.test[1].audit->find("sex")->flip->co.value, 0);
}

// Near the original the path's linear forecast of the gap is right; it is not the measured
// figure.
TEST(Debias, TheReceiptHoldsWhatThePathForetold) {
  const test::Story story = test::made_up_story();
  DebiasOptions options = quick_options();
  options.method = RepairMethod::path;
  const DebiasRun all = test::debias_run(story.model, story.parts, options);
  options.at.lambda = all.candidates()[3].lambda;
  const DebiasRun run = test::debias_run(story.model, story.parts, options);
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
  const test::Story story = test::made_up_story();
  const DebiasRun run = test::debias_run_without(story.model, story.parts, quick_options());
  const DebiasReport report = run.measure(run.model());
  const auto json = nlohmann::json::parse(receipt_json(report, {}));
  EXPECT_TRUE(json["controls"]["retrained_without_column"]["value"].is_null());
  EXPECT_EQ(json["controls"]["retrained_without_column"]["reason"],
            "no training rows were given (--train)");
  EXPECT_EQ(json["solve"]["hessian_rows"], "edit");
}

TEST(Debias, EveryMethodAndTermLowersTheGap) {
  const test::Story story = test::made_up_story();
  for (const std::string method : {"solve", "path", "average-column"}) {
    DebiasOptions options = quick_options();
    options.method = parse_method(method);
    options.max_accuracy_loss = 0.1;
    const DebiasRun run = test::debias_run(story.model, story.parts, options);
    ASSERT_TRUE(run.found()) << method;
    EXPECT_LT(co(run.measure(run.model()), 1).value, 1e-3) << method;
  }
  DebiasOptions options = quick_options();
  options.fit = 0.5;
  options.gaps = {parse_limit("demographic_parity_soft:group=1")};
  options.max_accuracy_loss = 0.2;
  const DebiasRun run = test::debias_run(story.model, story.parts, options);
  ASSERT_TRUE(run.found());
  EXPECT_LT(co(run.measure(run.model()), 1).value, co(run.measure(run.model()), 0).value);
}

TEST(Debias, SeveralAttributesAreRepairedTogether) {
  const test::Story story = test::made_up_story();
  DebiasOptions options = quick_options();
  options.repair.clear();
  options.target = parse_limit("co=.005");
  const DebiasRun run = test::debias_run(story.model, story.parts, options);
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.repaired, (std::vector<std::string>{"group", "third"}));
  for (const char* name : {"group", "third"})
    EXPECT_LE(report.test[1].audit->find(name)->flip->co.value, 0.005) << name;
}

// With three classes co (of the label's class) and co_tv (over all classes) differ: what
// moved must be the co that the audits of the same rows have.
TEST(Debias, WhatMovedIsTheFlipGapOfTheLabelsClass) {
  Table table = test::number_of_columns(4000, 5);
  Column& y = table.columns.back();
  y.levels = {"no", "maybe", "yes"};
  for (std::size_t i = 0; i < y.codes.size(); ++i)
    if (y.codes[i] == 1 && table.columns[0].numbers[i] > 0.3) y.codes[i] = 2;
  Task task = test::made_up_task();
  task.classes = y.levels;
  const test::Parts parts = test::split_table(table, task, 3);
  const Model model = train_model(parts.train, task, "", {}, {}).model;
  DebiasOptions options = quick_options();
  options.points = 4;
  options.best_effort = true;
  const DebiasRun run = test::debias_run(model, parts, options);
  const DebiasReport report = run.measure(run.model());
  const AttributeAudit& before = *report.test[0].audit->find("third");
  const AttributeAudit& after = *report.test[1].audit->find("third");
  EXPECT_GT(before.flip->co_tv.value - before.flip->co.value, 1e-3);
  const auto co = [](const AttributeAudit& audit, const std::string& about) {
    for (const FlipCell& cell : audit.flip->cells)
      if (audit.values[static_cast<std::size_t>(cell.from)] + " -> " +
              audit.values[static_cast<std::size_t>(cell.to)] ==
          about)
        return cell.co.value;
    return about.empty() ? audit.flip->co.value : kUndefined;
  };
  int compared = 0;
  for (const MeasureMove& move : report.moved.measures) {
    if (move.attribute != "third" || move.measure != "co") continue;
    EXPECT_CLOSE(move.before.value, co(before, move.about), 1e-9);
    EXPECT_CLOSE(move.after.value, co(after, move.about), 1e-9);
    ++compared;
  }
  EXPECT_EQ(compared, 2) << "the mean, and one pair of values";
}

TEST(Debias, KeepRateKeepsTheShareOfFavourableAnswers) {
  const test::Story story = test::made_up_story();
  DebiasOptions options = quick_options();
  options.keep_rate = true;
  options.max_accuracy_loss = 0.1;
  const DebiasRun run = test::debias_run(story.model, story.parts, options);
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
  const test::Story story = test::made_up_story();
  DebiasOptions options = quick_options();
  options.max_accuracy_loss = 0;  // the repair costs accuracy on these rows
  options.method = RepairMethod::average_column;
  const DebiasRun run = test::debias_run(story.model, story.parts, options);
  EXPECT_FALSE(run.found());
  EXPECT_EQ(run.model().theta, story.model.theta);
  options.best_effort = true;
  EXPECT_TRUE(test::debias_run(story.model, story.parts, options).found());
}

TEST(Debias, AnAttributeThatIsNoInputIsAnError) {
  const test::Story story = test::made_up_story();
  const Model without = train_without(story.model, story.parts.train, {"group"}, {}).model;
  EXPECT_ERROR(test::debias_run(without, story.parts, quick_options()),
               ErrorKind::attribute_not_read, "the model does not read group");
}

TEST(Debias, AtLambdaGivesTheVeryModelOfThatPoint) {
  const test::Story story = test::made_up_story();
  const DebiasRun all = test::debias_run(story.model, story.parts, quick_options());
  for (const std::size_t at : {std::size_t{2}, std::size_t{7}}) {
    DebiasOptions options = quick_options();
    options.at.lambda = all.candidates()[at].lambda;
    const DebiasRun one = test::debias_run(story.model, story.parts, options);
    EXPECT_EQ(one.model().theta, all.candidates()[at].theta);
    const DebiasReport report = one.measure(one.model());
    const Candidate& point = report.candidates[static_cast<std::size_t>(report.chosen)];
    EXPECT_EQ(point.accuracy.value, all.candidates()[at].accuracy.value);
    EXPECT_EQ(point.bias[0].high, all.candidates()[at].bias[0].high);
  }
}

TEST(Debias, ParametersAndFiguresAreTheSameBitsForAnyNumberOfThreads) {
  const test::Story story = test::made_up_story();
  std::string first;
  Vector theta;
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const Exec exec{.pool = &pool, .seed = 11, .progress = nullptr};
    const Model model =
        train_model(story.parts.train, story.parts.task, "", {}, exec).model;
    const DebiasRun run = test::debias_run(model, story.parts, quick_options(), exec);
    const std::string receipt = receipt_json(run.measure(run.model()), {});
    if (first.empty()) {
      first = receipt;
      theta = run.model().theta;
    }
    EXPECT_EQ(run.model().theta, theta) << threads;
    EXPECT_EQ(receipt, first) << threads;
  }
}

const OverlapNote& overlap_of(const DebiasReport& report, const std::string& role,
                              const std::string& other) {
  for (const OverlapNote& note : report.overlaps)
    if (note.role == role && note.other == other) return note;
  throw std::out_of_range(role + " and " + other);
}

TEST(Debias, TablesThatShareNoRowsAreNotOptimistic) {
  const test::Story story = test::made_up_story();
  const DebiasRun run = test::debias_run(story.model, story.parts, quick_options());
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.overlaps.size(), 3U);  // data, train and test, each with each
  for (const OverlapNote& note : report.overlaps)
    EXPECT_FALSE(note.rows.beyond_chance()) << note.role << " " << note.other;
  EXPECT_FALSE(report.optimistic);
}

// DATA as the test rows, or a part of them: the figures are of rows that the edit saw.
TEST(Debias, RowsOfTheTestThatAreInDataAreSaidAndMakeItOptimistic) {
  const test::Story story = test::made_up_story();
  test::Parts same = story.parts;
  same.test = same.repair;
  const DebiasRun whole = test::debias_run(story.model, same, quick_options());
  const DebiasReport twice = whole.measure(whole.model());
  EXPECT_TRUE(overlap_of(twice, "test", "data").rows.same_set);
  EXPECT_TRUE(twice.optimistic);
  EXPECT_NE(screen(sheet_of(twice)).find("test and data are the same rows"),
            std::string::npos);

  test::Parts some = story.parts;
  std::vector<Index> rows;
  for (Index row = 0; row < some.train.rows() / 2; ++row) rows.push_back(row);
  some.test = select(some.train, rows);
  const DebiasRun run = test::debias_run(story.model, some, quick_options());
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(overlap_of(report, "test", "train").rows.shared, std::ssize(rows));
  EXPECT_TRUE(overlap_of(report, "test", "train").rows.beyond_chance());
  EXPECT_FALSE(overlap_of(report, "test", "data").rows.beyond_chance());
  EXPECT_TRUE(report.optimistic);
  const auto json = nlohmann::json::parse(receipt_json(report, {}));
  ASSERT_EQ(json["overlaps"].size(), 3U);
  EXPECT_EQ(json["overlaps"][2]["rows_of"], "test");
  EXPECT_EQ(json["overlaps"][2]["equal_rows_of"], "train");
  EXPECT_EQ(json["overlaps"][2]["shared"], std::ssize(rows));
  EXPECT_EQ(json["overlaps"][2]["beyond_chance"], true);
}

TEST(Debias, ReceiptsHoldNeitherRowsNorWeights) {
  test::Story story = test::made_up_story();
  Column& third = story.parts.test.columns[2];  // a value that only three persons have
  for (auto& code : third.codes) code = std::min(code, 1);
  for (std::size_t i = 0; i < 3; ++i) third.codes[i] = 2;
  const DebiasRun run = test::debias_run(story.model, story.parts, quick_options());
  const auto json = nlohmann::json::parse(receipt_json(run.measure(run.model()), {}));
  EXPECT_EQ(json["schema"], 2);
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
