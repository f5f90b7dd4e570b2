#include "fmd/pipeline/audit.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/data/csv.h"
#include "fmd/pipeline/score_files.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

AuditReport audit(const Model& model, const Table& table,
                  const AuditOptions& options = {}) {
  return audit(ModelInMemory(model), DataSource::table(table), options, {});
}

Model made_up_model() {
  return train_model(test::number_of_columns(2000, 1), test::made_up_task(), "", {}, {})
      .model;
}

TEST(Audit, JsonHoldsWhatTheContractPromises) {
  const auto json = nlohmann::json::parse(
      to_json(audit(made_up_model(), test::number_of_columns(1000, 2))));
  EXPECT_EQ(json["rows"], 1000);
  for (const char* key : {"value", "low", "high"})
    EXPECT_TRUE(json["accuracy"][key].is_number());
  const auto& attribute = json["attributes"][0];
  EXPECT_EQ(attribute["name"], "group");
  EXPECT_EQ(attribute["reads"], true);
  for (const char* key : {"value", "rows", "selection_rate", "tpr", "fpr", "accuracy"})
    EXPECT_TRUE(attribute["groups"][0].contains(key)) << key;
  for (const char* key : {"co", "co_worst", "flip_rate", "demographic_parity",
                          "equal_opportunity", "equalized_odds"})
    EXPECT_TRUE(attribute["measures"][key]["value"].is_number()) << key;
  EXPECT_EQ(json["intersections"].size(), 1);
  EXPECT_EQ(json["verdict"], "none");
}

TEST(Audit, WithoutLabelsAccuracyAndLabelMetricsAreNullWithAReason) {
  Table table = test::number_of_columns(1000, 2);
  table.columns.pop_back();
  const auto json = nlohmann::json::parse(to_json(audit(made_up_model(), table)));
  EXPECT_TRUE(json["accuracy"]["value"].is_null());
  EXPECT_EQ(json["accuracy"]["reason"], "no labels");
  const auto& measures = json["attributes"][0]["measures"];
  EXPECT_TRUE(measures["equal_opportunity"]["value"].is_null());
  EXPECT_FALSE(measures["equal_opportunity"]["reason"].get<std::string>().empty());
  EXPECT_TRUE(measures["demographic_parity"]["value"].is_number());
  EXPECT_TRUE(measures["co"]["value"].is_number());  // two classes: needs no label
}

TEST(Audit, AnAttributeThatIsNoInputNeverPasses) {
  Table table = test::number_of_columns(2000, 1);
  const Model full = train_model(table, test::made_up_task(), "", {}, {}).model;
  Model model = train_without(full, table, {"group"}, {}).model;
  model.task.limits = {parse_limit("co:group=.9")};
  const AuditReport report = audit(model, test::number_of_columns(1000, 2));
  EXPECT_EQ(report.find("group")->reads, Reads::no);
  EXPECT_EQ(report.verdict, Verdict::unclear);
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_TRUE(json["attributes"][0]["measures"]["co"]["value"].is_null());
  EXPECT_EQ(json["attributes"][0]["measures"]["co"]["reason"], "not_an_input");
  EXPECT_EQ(json["limits"][0]["reason"], "not_an_input");
}

TEST(Audit, LimitsPassFailOrLackEvidence) {
  Model model = made_up_model();
  const Table table = test::number_of_columns(1000, 2);
  const double co = audit(model, table).find("group")->flip->co.value;
  const auto verdict = [&](double value) {
    model.task.limits = {Limit{"co", "group", value}};
    return audit(model, table).verdict;
  };
  EXPECT_EQ(verdict(co + .05), Verdict::pass);
  EXPECT_EQ(verdict(co - .05), Verdict::fail);
  EXPECT_EQ(verdict(co), Verdict::unclear);
}

// Scores of another program give the same figures as the model that made them.
TEST(Audit, ScoresAndPairScoresGiveTheSameFiguresAsTheModel) {
  const Model model = made_up_model();
  const Table table = test::number_of_columns(600, 2);
  const AuditReport direct = audit(model, table);
  const Study study = make_study(model, table, model.task, true, {});
  const auto with_scores = [&](Table t, const Matrix& p) {
    Column column{
        .name = "p", .kind = ColumnKind::number, .numbers = {}, .codes = {}, .levels = {}};
    for (Index i = 0; i < p.rows(); ++i) column.numbers.push_back(p(i, 1));
    t.columns.push_back(column);
    return parse_csv(to_csv(t), "scores.csv", {});
  };
  const Table scores = with_scores(table, score(model, study, {}, {}).p);
  const PairPlan plan = flip_plan(study.attributes[0]);
  const Table flipped = flipped_table(table, study.attributes[0], plan);
  const Study pair_study = make_study(model, flipped, model.task, true, {});
  const Table pairs = with_scores(flipped, score(model, pair_study, {}, {}).p);
  const AuditReport read = audit(ScoresSource(model.task, DataSource::table(pairs)),
                                 DataSource::table(scores), {}, {});
  EXPECT_EQ(read.find("group")->reads, Reads::unknown);
  EXPECT_CLOSE(read.find("group")->flip->co.value, direct.find("group")->flip->co.value,
               1e-12);
  EXPECT_CLOSE(read.accuracy.value, direct.accuracy.value, 1e-12);
  EXPECT_EQ(read.find("third")->flip_reason, "no_pairs");
}

TEST(Audit, AScoreThatIsNoProbabilityIsNamed) {
  const Table scores = parse_csv("group,y,p\na,no,0.5\nb,yes,1.5\n", "scores.csv", {});
  Task task = test::made_up_task();
  task.attributes.pop_back();
  EXPECT_ERROR(audit(ScoresSource(task), DataSource::table(scores), {}, {}),
               ErrorKind::bad_value,
               "scores.csv, line 3, column \"p\": \"1.5\" is not a probability");
}

TEST(Audit, NumericAttributeNamesValues) {
  Task task = test::made_up_task();
  task.attributes[0].name = "x";
  task.attributes[0].columns = {"x"};
  EXPECT_ERROR(train_model(test::number_of_columns(100, 1), task, "", {}, {}),
               ErrorKind::bad_task, "values");
}

// HMDA: the positive label (deny) is the unfavourable one, and the threshold is far from
// one half.
TEST(Audit, AnUnfavourablePositiveLabelAndALowThresholdComeOutRightSideUp) {
  if (test::data_folder().empty()) GTEST_SKIP() << "FMD_DATA is not set";
  Task task = find_dataset("hmda").task;
  task.threshold = .08;
  const Table table = load_dataset("hmda", test::data_folder());
  const Model model = train_model(table, task, "", {}, {}).model;
  const AuditReport report = audit(model, table);
  // Counted by hand from the scores: approved means p(deny) < .08.
  const Study study = make_study(model, table, task, true, {});
  const Matrix p = score(model, study, {}, {}).p;
  const Attribute& afam = study.attributes[0];
  std::map<std::string, std::pair<double, double>> approved, right;  // yes, rows
  for (Index i = 0; i < p.rows(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string group = afam.values[static_cast<std::size_t>(afam.code[at])];
    const bool yes = p(i, 1) < .08;
    approved[group].first += yes;
    approved[group].second += 1;
    if (study.y[at] == 0) {  // the loan was not denied: a favourable label
      right[group].first += yes;
      right[group].second += 1;
    }
  }
  for (const Group& group : report.find("afam")->groups.groups) {
    EXPECT_CLOSE(group.selection_rate.value,
                 approved[group.value].first / approved[group.value].second, 1e-12);
    EXPECT_CLOSE(group.tpr.value, right[group.value].first / right[group.value].second,
                 1e-12);
  }
  EXPECT_GT(approved["no"].first / approved["no"].second,
            approved["yes"].first / approved["yes"].second);
}

// Race shuffled after scoring says nothing about scores: intervals that hold together must
// contain 0 nearly always.
TEST(AuditSlow, ShuffledRaceHasNoDifference) {
  const Table table = load_dataset("demo", "");
  const Task task = find_dataset("demo").task;
  const test::Parts parts = test::split_table(table, task, 1);
  const Model model = train_model(parts.train, task, "", {}, {}).model;
  const Study study = make_study(model, parts.test, task, true, {});
  const Scored scored = score(model, study, {}, {});
  const Attribute& race = study.attributes[static_cast<std::size_t>(study.find("race"))];
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Rng rng(seed, "shuffle");
    std::vector<std::int32_t> code;
    for (const Index i : permutation(study.table.rows(), rng))
      code.push_back(race.code[static_cast<std::size_t>(i)]);
    const GroupReport report = group_report(scored, "race", race.values, code,
                                            {.replicates = 50, .reference = 0}, {});
    bool all = true;
    for (const Comparison& c : report.find("demographic_parity")->comparisons)
      all = all && c.difference.low <= 0 && c.difference.high >= 0;
    held += all;
  }
  EXPECT_GE(held, 90);
}

TEST(Audit, JsonHasEveryRateAndMeasureWithAnIntervalOrAReason) {
  const auto json = nlohmann::json::parse(
      to_json(audit(made_up_model(), test::number_of_columns(1000, 2))));
  const auto complete = [](const auto& figure) {
    return figure["value"].is_null()
               ? !figure["reason"].template get<std::string>().empty()
               : figure["low"].is_number() && figure["high"].is_number();
  };
  const auto& attribute = json["attributes"][0];
  for (const auto& label : attribute["flips"]["by_label"])
    EXPECT_TRUE(complete(label["co"])) << label;
  EXPECT_EQ(attribute["flips"]["by_label"].size(), 2U);
  EXPECT_TRUE(attribute["flips"]["largest_gap"].is_number());
  // No interval of these covers as often as it says: they have none.
  const std::set<std::string> bare = {"ece", "mce", "bias_amplification",
                                      "between_group_entropy"};
  for (const std::string& name : metric_names({"all"})) {
    if (name == "co_label" || name == "largest_gap" || bare.contains(name)) continue;
    const auto& of = attribute["groups"][0]["rates"].contains(name)
                         ? attribute["groups"][0]["rates"][name]
                         : attribute["measures"][name];
    EXPECT_TRUE(complete(of)) << name << " " << of;
  }
}

TEST(Audit, TheScreenShowsTheMetricsThatWereAskedFor) {
  AuditReport report = audit(made_up_model(), test::number_of_columns(1000, 2));
  EXPECT_EQ(screen(sheet_of(report)).find("MEASURES"), std::string::npos);
  report.shown = metric_names({"ppv", "disparate_impact"});
  const std::string text = screen(sheet_of(report));
  EXPECT_NE(text.find("\n  ppv "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  disparate_impact "), std::string::npos);
  EXPECT_EQ(text.find("\n  npv "), std::string::npos);
  report.shown = metric_names({"all"});
  std::size_t begin = 0;
  const std::string all = screen(sheet_of(report));
  for (std::size_t end; (end = all.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 80u) << all.substr(begin, end - begin);
  EXPECT_ERROR(metric_names({"accuracy", "nothing"}), ErrorKind::bad_option,
               "nothing is unknown");
}

TEST(Audit, LimitsTakeRatiosAndAccuraciesByTheirSense) {
  const AuditReport report = audit(made_up_model(), test::number_of_columns(4000, 2));
  const AttributeAudit& group = report.attributes[0];
  const auto verdict = [&](const char* limit) {
    return judge_limit(group, parse_limit(limit)).verdict;
  };
  const Interval& ratio = group.groups.find("disparate_impact")->value;
  ASSERT_TRUE(ratio.high < 0.95 || ratio.low > 1.05);
  EXPECT_EQ(verdict("disparate_impact=.99"), Verdict::fail);
  EXPECT_EQ(verdict("disparate_impact=.01"), Verdict::pass);
  EXPECT_EQ(verdict("unbiased_accuracy=.99"), Verdict::fail);
  EXPECT_EQ(verdict("unbiased_accuracy=.1"), Verdict::pass);
  EXPECT_EQ(verdict("statistical_parity_difference=.9"), Verdict::pass);
  EXPECT_EQ(verdict("statistical_parity_difference=.0001"), Verdict::fail);
  EXPECT_ERROR(verdict("disparate_impact=1.5"), ErrorKind::bad_option, "between 0 and 1");
}

TEST(Audit, WeightsChangeRatesAndCountAsFewerRows) {
  const Model model = made_up_model();
  Table table = test::number_of_columns(2000, 2);
  Column weight;
  weight.name = "w";
  weight.kind = ColumnKind::number;
  for (Index i = 0; i < 2000; ++i) weight.numbers.push_back(i % 4 == 0 ? 5 : 1);
  const auto plain = audit(model, table);
  EXPECT_ERROR(audit(model, table, {.weighted = true}), ErrorKind::bad_option, "--weight");
  table.columns.push_back(weight);
  AuditOptions options{.weighted = true};
  options.task.flags.weight = "w";
  const auto weighted = audit(model, table, options);
  EXPECT_TRUE(weighted.weighted);
  // (500 5 + 1500)^2 / (500 25 + 1500) of 2,000 rows.
  const double rows = 4000.0 * 4000 / 14000;
  EXPECT_NEAR((weighted.accuracy.high - weighted.accuracy.low) /
                  (plain.accuracy.high - plain.accuracy.low),
              std::sqrt(2000 / rows), 0.05);
  EXPECT_LT(weighted.attributes[0].groups.groups[0].effective_rows,
            static_cast<double>(weighted.attributes[0].groups.groups[0].rows));
}

// 20,000 rows are flipped in parts, for all models together.
TEST(AuditModels, GiveTheSameAsEachModelAloneWithAllFlips) {
  const Model model =
      train_model(test::number_of_columns(2000, 1), test::made_up_task(), "", {}, {}).model;
  Model moved = with_theta(model, 1.5 * model.theta), sharper = moved;
  sharper.task.threshold = 0.7;
  const Study study =
      make_study(model, test::number_of_columns(20'000, 2), model.task, true, {});
  const auto pairs = make_pairs(model, study, model.task, {}, {});
  AuditOptions coarse;
  coarse.replicates = 100;
  for (const std::vector<const Model*>& models :
       {std::vector<const Model*>{&model, &moved}, {&model, &moved, &sharper}}) {
    std::vector<AuditedModel> together;
    for (const Model* one : models)
      together.push_back({one, one == &model ? AuditOptions{} : coarse});
    const std::vector<AuditReport> reports = audit_models(together, study, {});
    ASSERT_EQ(reports.size(), models.size());
    for (std::size_t k = 0; k < models.size(); ++k)
      EXPECT_EQ(to_json(reports[k]),
                to_json(audit_model(*models[k], study, pairs, together[k].options, {})));
  }
}

}  // namespace
}  // namespace fmd
