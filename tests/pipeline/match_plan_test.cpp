#include "fmd/pipeline/match_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/parallel.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/score_files.h"
#include "fmd/pipeline/verify.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;

// Four columns, a label, and a group that the model does not read. `pull`: how far the
// group moves the inputs; 0: it says nothing at all.
Table matched_people(Index rows, double pull, double share, std::uint64_t seed) {
  Rng rng(seed, "people");
  Table table;
  table.source = "people";
  std::vector<Column> x(3);
  for (std::size_t j = 0; j < 3; ++j) x[j].name = "x" + std::to_string(j);
  Column job{.name = "job", .kind = ColumnKind::category, .levels = {"p", "q", "r"}};
  Column group{.name = "group", .kind = ColumnKind::category, .levels = {"a", "b"}};
  Column y{.name = "y", .kind = ColumnKind::category, .levels = {"no", "yes"}};
  for (Index i = 0; i < rows; ++i) {
    const std::int32_t g = rng.uniform() < share ? 1 : 0;
    double z = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const double value = rng.normal() + (j == 0 ? pull * g : 0);
      x[j].numbers.push_back(value);
      z += value;
    }
    job.codes.push_back(static_cast<std::int32_t>(rng.below(3)));
    group.codes.push_back(g);
    y.codes.push_back(rng.uniform() < 1 / (1 + std::exp(-z)) ? 1 : 0);
  }
  table.columns = {x[0], x[1], x[2], job, group, y};
  return table;
}

Task matched_task(const std::string& pairs = "match") {
  Task task;
  task.label = "y";
  task.classes = {"no", "yes"};
  task.ignore = {"group"};
  task.attributes = {{.name = "group", .columns = {"group"}, .pairs = pairs}};
  return task;
}

AuditReport audit_matched(const Model& model, const Table& table, const Exec& exec = {}) {
  return audit(ModelInMemory(model), DataSource::table(table),
               {.replicates = 50, .intersections = false}, exec);
}

TEST(MatchPlan, PartnersHaveTheSameLabelAndAnotherValueAndServeAtMostFiveTimes) {
  const Table table = matched_people(900, 0.5, 0.3, 1);
  for (const char* pairs : {"match:mahalanobis", "match:cosine", "match:overlap"}) {
    Task task = matched_task(pairs);
    if (std::string(pairs) == "match:overlap") task.attributes[0].match_columns = {"job"};
    const Model model = train_model(table, task, "", {}, {}).model;
    const Study study = make_study(model, table, task, true, {});
    const MatchPlan plan = match_plan(match_input(model, study, task, 0), {});
    ASSERT_GT(plan.size(), 0) << pairs;
    std::map<Index, Index> used;
    Index lost = 0;
    const std::vector<std::int32_t>& code = study.attributes[0].code;
    for (std::size_t i = 0; i < plan.row.size(); ++i) {
      const auto row = static_cast<std::size_t>(plan.row[i]);
      const auto partner = static_cast<std::size_t>(plan.partner[i]);
      EXPECT_EQ(study.y[row], study.y[partner]);
      EXPECT_NE(code[row], code[partner]);
      ASSERT_GE(plan.own[i], 0);
      const auto own = static_cast<std::size_t>(plan.own[i]);
      EXPECT_EQ(study.y[row], study.y[own]);
      EXPECT_EQ(code[row], code[own]);
      EXPECT_NE(row, own);
      EXPECT_GE(plan.quality[i], 0);
      EXPECT_LE(plan.quality[i], 1);
      EXPECT_LE(++used[plan.partner[i]], 5);
    }
    for (const auto& [why, count] : plan.unmatched) lost += count;
    EXPECT_EQ(plan.size() + lost, 900) << pairs;
  }
}

TEST(MatchPlan, OverlapIsTheShareOfEqualValues) {
  const Table table = matched_people(400, 0, 0.5, 2);
  Task task = matched_task("match:overlap");
  task.attributes[0].match_columns = {"job"};
  const Attribute attribute = read_attribute(table, task.attributes[0]);
  const MatchPlan plan = match_plan(table, task, attribute, task.attributes[0], {});
  const Column& job = table.column("job");
  for (std::size_t i = 0; i < plan.row.size(); ++i)
    EXPECT_EQ(plan.quality[i] == 1,
              job.codes[static_cast<std::size_t>(plan.row[i])] ==
                  job.codes[static_cast<std::size_t>(plan.partner[i])]);
  task.attributes[0].caliper = "0";  // equal in all of them
  const MatchPlan equal = match_plan(table, task, attribute, task.attributes[0], {});
  EXPECT_GT(equal.size(), 0);
  for (const double quality : equal.quality) EXPECT_EQ(quality, 1);
}

TEST(MatchPlan, ACaliperInDeviationsLeavesOutTheFarOnes) {
  const Table table = matched_people(600, 1, 0.5, 3);
  Task task = matched_task();
  const Attribute attribute = read_attribute(table, task.attributes[0]);
  const auto plan = [&](const std::string& caliper) {
    task.attributes[0].caliper = caliper;
    return match_plan(table, task, attribute, task.attributes[0], {});
  };
  const MatchPlan all = plan(""), near = plan("0.5sd"), none = plan("0");
  EXPECT_LT(near.size(), all.size());
  EXPECT_GT(near.size(), 0);
  for (const double distance : near.distance) EXPECT_LE(distance, near.caliper);
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.reason, "no row has a partner");
}

// A group that says nothing has no excess: intervals of 95 % contain 0 nearly always, for
// even and for uneven groups.
TEST(MatchReport, AGroupThatSaysNothingHasNoExcess) {
  const Model model =
      train_model(matched_people(2000, 0, 0.5, 99), matched_task(), "", {}, {}).model;
  int held = 0, runs = 0;
  for (const double share : {0.5, 0.2}) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      const Interval excess =
          audit_matched(model, matched_people(600, 0, share, seed), {.seed = seed})
              .find("group")
              ->match->excess;
      held += excess.low <= 0 && excess.high >= 0;
      ++runs;
    }
  }
  EXPECT_GE(held, runs - 2);
}

// What the columns that were matched on leave out is excess: jobs say nothing of the score,
// which follows the group through x0.
TEST(MatchReport, WhatTheMatchingLeavesOutStaysApart) {
  Model model =
      train_model(matched_people(1000, 1, 0.5, 5), matched_task(), "", {}, {}).model;
  const Table table = matched_people(1000, 1, 0.5, 6);
  const MatchReport full = *audit_matched(model, table).find("group")->match;
  model.task.attributes[0].match_columns = {"job"};
  const MatchReport blind = *audit_matched(model, table).find("group")->match;
  EXPECT_EQ(blind.by, "overlap");
  EXPECT_GT(blind.co.value, 3 * full.co.value);
  EXPECT_GT(std::abs(blind.balance[0].after), 4 * std::abs(full.balance[0].after));
}

TEST(MatchReport, MatchingBringsTheGroupsTogether) {
  const Table table = matched_people(1500, 1, 0.5, 7);
  const Model model = train_model(table, matched_task(), "", {}, {}).model;
  const MatchReport report =
      *audit_matched(model, matched_people(1500, 1, 0.5, 8)).find("group")->match;
  ASSERT_EQ(report.balance.size(), 6u);  // three numbers, three levels
  const BalanceLine& pulled = report.balance[0];
  EXPECT_EQ(pulled.column, "x0");
  EXPECT_NEAR(std::abs(pulled.before), 1, 0.15);
  EXPECT_LT(std::abs(pulled.after), std::abs(pulled.before) / 4);
  EXPECT_GT(report.quality, 0.75);
  EXPECT_LE(report.most_used, 5);
  EXPECT_GT(unbalanced(report).first, 0);
}

TEST(MatchReport, JsonHasTheExcessAndNoFlipGapOfWhatIsNoInput) {
  const Table table = matched_people(800, 1, 0.4, 9);
  Model model = train_model(table, matched_task(), "", {}, {}).model;
  model.task.limits = {parse_limit("co:group=.9"), parse_limit("co_match_excess:group=.9")};
  const AuditReport report = audit_matched(model, matched_people(800, 1, 0.4, 10));
  const json found = json::parse(to_json(report));
  const json& attribute = found["attributes"][0];
  EXPECT_TRUE(attribute["measures"]["co"]["value"].is_null());
  EXPECT_EQ(attribute["measures"]["co"]["reason"], "not_an_input");
  for (const char* key : {"co_match", "co_match_floor", "co_match_excess"})
    EXPECT_TRUE(attribute["measures"][key]["low"].is_number()) << key;
  EXPECT_EQ(attribute["match"]["by"], "mahalanobis");
  EXPECT_EQ(attribute["match"]["reuse"], 5);
  EXPECT_GT(attribute["match"]["balance"].size(), 3u);
  // A matched pair is no flip: it never lets a limit on co pass.
  EXPECT_EQ(report.limits[0].verdict, Verdict::unclear);
  EXPECT_EQ(report.limits[1].verdict, Verdict::pass);
  EXPECT_NE(screen(sheet_of(report)).find("floor: nearest of the same value"),
            std::string::npos);
  EXPECT_EQ(screen(sheet_of(report)).find("counterfactual"), std::string::npos);
  EXPECT_EQ(task_from_json(to_json(model.task), "m"), model.task);
}

TEST(MatchReport, SameBitsForAnyNumberOfThreads) {
  const Table table = matched_people(1200, 0.5, 0.3, 11);
  const Model model = train_model(table, matched_task(), "", {}, {}).model;
  const std::string one = to_json(audit_matched(model, table));
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(to_json(audit_matched(model, table, {.pool = &pool})), one);
  }
}

TEST(MatchReport, FromScoresAloneByOverlap) {
  Table scores = matched_people(600, 1, 0.5, 12);
  Column p{.name = "p"};
  Rng rng(1, "scores");
  for (Index i = 0; i < 600; ++i) p.numbers.push_back(rng.uniform());
  scores.columns.push_back(p);
  Task task = matched_task();
  EXPECT_ERROR(audit(ScoresSource(task), DataSource::table(scores), {.replicates = 50}, {}),
               ErrorKind::bad_option, "needs a model's features");
  task.attributes[0].match_columns = {"job"};
  const AuditReport report =
      audit(ScoresSource(task), DataSource::table(scores), {.replicates = 50}, {});
  EXPECT_TRUE(report.find("group")->match->excess.defined());
}

TEST(MatchReport, TooFewRowsAreSaid) {
  const Table table = matched_people(150, 0, 0.2, 13);
  const Model model =
      train_model(matched_people(500, 0, 0.5, 14), matched_task(), "", {}, {}).model;
  const MatchReport report = *audit_matched(model, table).find("group")->match;
  EXPECT_EQ(report.reason, "fewer than two values have >= 100 rows");
  EXPECT_FALSE(report.co.defined());
}

// ---- debias

DebiasRun run_matched(const Model& model, const Table& data, const Table& test,
                      DebiasOptions options, const Exec& exec = {}) {
  options.test = DataSource::table(test);
  return DebiasRun(ModelInMemory(model), DataSource::table(data), options, exec);
}

DebiasOptions matched_options() {
  DebiasOptions options;
  options.audit.replicates = 200;
  options.audit.intersections = false;
  options.max_accuracy_loss = 0.03;
  return options;
}

double odds_gap(const AuditReport& report) {
  return report.find("group")->groups.find("equalized_odds")->value.value;
}

TEST(DebiasMatched, LowersTheOddsGapOfAnAttributeThatIsNotRead) {
  const Model model =
      train_model(matched_people(1500, 1, 0.5, 21), matched_task(), "", {}, {}).model;
  const Table data = matched_people(2500, 1, 0.5, 22);
  const Table test = matched_people(2000, 1, 0.5, 23);
  const DebiasRun run = run_matched(model, data, test, matched_options());
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  EXPECT_EQ(report.measure, "equalized_odds_soft");
  EXPECT_FALSE(report.attribute_use[0].read_by_model);
  EXPECT_LT(odds_gap(*report.test[1].audit), 0.65 * odds_gap(*report.test[0].audit));
  EXPECT_GT(report.accuracy_change.value, -0.025);
  const json receipt = json::parse(receipt_json(report, {}));
  EXPECT_TRUE(receipt["chosen"]["gamma"].is_number());
  EXPECT_EQ(receipt["controls"]["column_averaged"]["reason"],
            "the model does not read the column");
  EXPECT_TRUE(receipt["controls"]["intercept_shift"].contains("attributes"));

  DebiasOptions at = matched_options();
  at.at.gamma = run.candidates()[8].gamma;
  at.at.mu = run.candidates()[8].mu;
  EXPECT_EQ(run_matched(model, data, test, at).model().theta, run.candidates()[8].theta);
  EXPECT_EQ(to_string(parse_at("gamma=10,mu=0.5")), "gamma=10,mu=0.5");
}

TEST(DebiasMatched, WhatDoesNotFitIsAnError) {
  const Model model =
      train_model(matched_people(800, 1, 0.5, 24), matched_task(), "", {}, {}).model;
  const Table data = matched_people(800, 1, 0.5, 25);
  const Table test = matched_people(500, 1, 0.5, 26);
  DebiasOptions options = matched_options();
  options.method = RepairMethod::step;
  EXPECT_ERROR(run_matched(model, data, test, options), ErrorKind::bad_option,
               "solve on matched pairs");
  options = matched_options();
  options.target = parse_limit("co=.01");
  EXPECT_ERROR(run_matched(model, data, test, options), ErrorKind::bad_option,
               "equalized_odds_soft");
}

// Adult without its column sex: the gap of the odds falls on unseen rows.
TEST(DebiasMatchedSlow, AdultWithoutSex) {
  if (test::data_folder().empty()) GTEST_SKIP() << "FMD_DATA is not set";
  Task task = find_dataset("adult").task;
  task.unseen = Unseen::bucket;
  const Table table = load_dataset("adult", test::data_folder());
  const test::Parts parts = test::split_table(table, task, 1);
  const Model full = train_model(parts.train, task, "", {}, {}).model;
  Model model = train_without(full, parts.train, {"sex"}, {}).model;
  model.task =
      merge(model.task, {.attributes = std::vector<std::string>{"sex"}, .pairs = "match"});
  ThreadPool pool;
  const DebiasRun run =
      run_matched(model, parts.repair, parts.test, matched_options(), {.pool = &pool});
  ASSERT_TRUE(run.found());
  const DebiasReport report = run.measure(run.model());
  const auto gap = [&](std::size_t at) {
    return report.test[at].audit->find("sex")->groups.find("equalized_odds")->value.value;
  };
  EXPECT_LT(gap(1), 0.95 * gap(0));
  EXPECT_GT(report.accuracy_change.value, -0.035);  // the budget is 3 points
  EXPECT_TRUE(report.test[0].audit->find("sex")->match->excess.defined());
}

}  // namespace
}  // namespace fmd
