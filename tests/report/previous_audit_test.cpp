#include "fmd/report/previous_audit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "support/close.h"

namespace fmd {
namespace {

std::string audit(const std::string& measures, const std::string& more = "") {
  return R"({"schema": 1, "command": "audit", "model": null, "rows": 10,
    "data": {"name": "d.csv", "sha256": null}, "confidence": 0.95,
    "accuracy": {"value": 0.8, "low": 0.78, "high": 0.82}, )" +
         more + R"("attributes": [{"name": "sex", "measures": {)" + measures + "}}]}";
}

const std::string kCo = R"("co": {"value": 0.1, "low": 0.09, "high": 0.11})";

PreviousAudit with(const std::string& measure, double value, double half) {
  PreviousAudit result;
  result.figures = {{.attribute = "sex",
                     .measure = measure,
                     .first = "a",
                     .second = "b",
                     .rate = "tpr",
                     .interval = {value, value - half, value + half}}};
  return result;
}

TEST(Baseline, FiguresSayWhomTheyAreAbout) {
  const auto about = [](const char* measure, const char* second, const char* rate) {
    return AuditFigure{.attribute = "sex",
                       .measure = measure,
                       .first = "a",
                       .second = second,
                       .rate = rate,
                       .interval = {}}
        .about();
  };
  EXPECT_EQ(about("co_worst", "b", ""), "a -> b");
  EXPECT_EQ(about("equal_opportunity", "b", "tpr"), "a - b");
  EXPECT_EQ(about("equalized_odds", "b", "fpr"), "a - b, fpr");
  // Groups, although its name begins like that of a flip.
  EXPECT_EQ(about("conditional_use_accuracy_difference", "b", "x"), "a - b");
  EXPECT_EQ(about("worst_group_accuracy", "", ""), "a");
}

TEST(Baseline, ReadsWhateverMeasuresThereAre) {
  const PreviousAudit read =
      parse_audit(audit(kCo + R"(, "co_large": {"value": null, "reason": "undefined"},
        "anything_new": {"value": 0.2, "low": 0.1, "high": 0.3, "comparisons": [
          {"first": "M", "second": "F", "rate": "ppv", "value": 0.2, "low": 0.1, "high": 0.3},
          {"first": "M", "second": "X", "rate": "ppv", "value": null, "reason": "undefined"}]},
        "worst_group_accuracy": {"value": 0.7, "low": 0.6, "high": 0.8, "group": "F"})"),
                  "old.json");
  ASSERT_EQ(read.figures.size(), 4U);
  EXPECT_EQ(read.figures[0].measure, "accuracy");
  EXPECT_EQ(read.figures[0].attribute, "");
  const AuditFigure* found = nullptr;
  for (const AuditFigure& figure : read.figures)
    if (figure.measure == "anything_new") found = &figure;
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->about(), "M - F");
  EXPECT_EQ(found->comparisons, 2);
  EXPECT_CLOSE(found->interval.high, .3, 1e-15);
}

TEST(Baseline, FilesThatAreNoAuditAreRefused) {
  const auto fails = [](const std::string& text, ErrorKind kind, const char* message) {
    EXPECT_ERROR(parse_audit(text, "old.json"), kind, message);
  };
  fails("", ErrorKind::bad_model, "old.json: damaged JSON");
  fails("[1]", ErrorKind::bad_model, "is not an audit");
  fails("{}", ErrorKind::bad_model, "is not an audit");
  fails(R"({"command": "debias", "schema": 1})", ErrorKind::bad_model, "is not an audit");
  fails(R"({"command": "audit", "schema": 2})", ErrorKind::unsupported, "schema 2");
  fails(audit(R"("co": {"value": "much"})"), ErrorKind::bad_model, "\"value\" is");
  fails(audit(R"("co": {"value": 0.1, "low": 0.2, "high": 0.3})"), ErrorKind::bad_model,
        "lies outside");
  fails(audit(R"("co": 3)"), ErrorKind::bad_model, "co");
  fails(audit(R"("m": {"value": 1, "comparisons": [
      {"first": "a", "second": "b", "value": 1}, {"first": "a", "second": "b", "value": 1}]})"),
        ErrorKind::bad_model, "appears twice");
  const std::string good = audit(kCo);
  fails(good.substr(0, good.size() / 2), ErrorKind::bad_model, "damaged JSON");
  std::string deep = R"({"command": "audit", "schema": 1, "attributes": )";
  fails(deep + std::string(100000, '[') + std::string(100000, ']') + "}",
        ErrorKind::bad_model, "old.json");
}

TEST(Baseline, ChangesOfIndependentFiguresAddTheirSquares) {
  const AuditChanges report = compare_audits(with("equal_opportunity", .10, .03),
                                             with("equal_opportunity", .30, .04));
  ASSERT_EQ(report.changes.size(), 1U);
  EXPECT_CLOSE(report.changes[0].change.value, .2, 1e-12);
  EXPECT_CLOSE(report.changes[0].change.low, .15, 1e-12);  // 3, 4, 5
  EXPECT_CLOSE(report.changes[0].change.high, .25, 1e-12);
  EXPECT_EQ(report.changes[0].direction, Direction::worse);
  EXPECT_FALSE(report.changes[0].paired);
}

TEST(Baseline, SizesCountAndLargerMayBeBetter) {
  const auto direction = [](const char* measure, double before, double after) {
    return compare_audits(with(measure, before, .01), with(measure, after, .01))
        .changes[0]
        .direction;
  };
  EXPECT_EQ(direction("equal_opportunity", -.1, -.3), Direction::worse);
  EXPECT_EQ(direction("equal_opportunity", -.3, .1), Direction::better);
  EXPECT_EQ(direction("equal_opportunity", .1, -.1), Direction::unclear);
  EXPECT_EQ(direction("worst_group_accuracy", .7, .6), Direction::worse);
  EXPECT_EQ(direction("selection_ratio", .7, .8), Direction::better);
  EXPECT_EQ(direction("npv_ratio", 1.3, 1.1), Direction::better);  // nearer to 1
  EXPECT_EQ(direction("npv_ratio", .9, 1.4), Direction::worse);
  EXPECT_EQ(direction("disparate_impact", .9, .7), Direction::worse);
  EXPECT_EQ(direction("unbiased_accuracy", .6, .7), Direction::better);
  EXPECT_EQ(direction("accuracy_difference", .1, .2), Direction::worse);
}

// More figures, wider intervals: one alone would be worse, one of a hundred is not.
TEST(Baseline, IntervalsHoldTogether) {
  PreviousAudit before = with("equal_opportunity", .10, .02),
                after = with("equal_opportunity", .14, .02);
  EXPECT_EQ(compare_audits(before, after).count(Direction::worse), 1);
  for (int i = 0; i < 99; ++i) {
    AuditFigure figure = before.figures[0];
    figure.attribute = "other" + std::to_string(i);
    before.figures.push_back(figure);
    after.figures.push_back(figure);
  }
  const AuditChanges report = compare_audits(before, after);
  EXPECT_EQ(report.changes.size(), 100U);
  EXPECT_EQ(report.count(Direction::worse), 0);
  const double factor = normal_quantile(1 - .05 / 100) / normal_quantile(.95);
  EXPECT_CLOSE(report.changes[0].change.low, .04 - factor * std::hypot(.02, .02), 1e-12);
  after.figures.pop_back();
  EXPECT_EQ(compare_audits(before, after).gone.size(), 1U);
  EXPECT_EQ(compare_audits(after, before).fresh.size(), 1U);
}

TEST(Baseline, PairedChangesReplaceThem) {
  FigureChange change = compare_audits(with("equal_opportunity", -.10, .05),
                                       with("equal_opportunity", -.14, .05))
                            .changes[0];
  EXPECT_EQ(change.direction, Direction::unclear);
  set_paired_change({-.04, -.06, -.02}, .95, 1, change);
  EXPECT_TRUE(change.paired);
  EXPECT_EQ(change.direction, Direction::worse);
  EXPECT_CLOSE(change.change.low, .02, 1e-12);
  // Across 0 the signed change does not tell the size.
  FigureChange across = compare_audits(with("equal_opportunity", -.10, .05),
                                       with("equal_opportunity", .11, .05))
                            .changes[0];
  set_paired_change({.21, .19, .23}, .95, 1, across);
  EXPECT_FALSE(across.paired);
  EXPECT_EQ(across.direction, Direction::unclear);
}

}  // namespace
}  // namespace fmd
