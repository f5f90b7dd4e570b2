#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/report/audit_report.h"
#include "support/close.h"

namespace fmd {
namespace {

// Two groups of one attribute with figures that are easy to follow.
AttributeAudit made_up_attribute() {
  AttributeAudit audit;
  audit.name = "sex, \"given\" & <kept>";
  audit.values = {"Male", "Female"};
  audit.flip_reason = "not_an_input";
  GroupReport& groups = audit.groups;
  groups.attribute = audit.name;
  for (const char* value : {"Male", "Fe|male, \"x\" <y>"}) {
    Group group;
    group.value = value;
    group.rows = 400;
    group.positives = 100;
    group.negatives = 300;
    group.selection_rate = wilson(100, 400, .95);
    group.compared = true;
    groups.groups.push_back(group);
  }
  groups.reference = 0;
  GroupMeasure parity;
  parity.name = "demographic_parity";
  parity.comparisons = {{0, 1, "selection_rate", {.2, .15, .25}}};
  parity.value = parity.comparisons[0].difference;
  GroupMeasure none;
  none.name = "equal_opportunity";
  none.reason = "no labels";
  GroupMeasure fresh;  // as a later version may add
  fresh.name = "npv_ratio";
  fresh.comparisons = {{0, 1, "ppv", {.9, .85, .95}}};
  groups.measures = {parity, none, fresh};
  groups.selection_ratio = {.6, .5, .7};
  return audit;
}

AuditReport made_up_report(const std::vector<std::string>& limits) {
  AuditReport report;
  report.data = "a<b>&\"c\".csv";
  report.rows = 800;
  report.task.classes = {"no", "yes"};
  report.attributes = {made_up_attribute()};
  for (const std::string& limit : limits)
    report.limits.push_back(judge_limit(report.attributes[0], parse_limit(limit)));
  report.verdict = overall(report.limits);
  return report;
}

TEST(Limits, JudgeWhateverTheReportHas) {
  const AttributeAudit audit = made_up_attribute();
  const auto verdict = [&](const char* text) {
    return judge_limit(audit, parse_limit(text)).verdict;
  };
  EXPECT_EQ(verdict("demographic_parity=.25"), Verdict::pass);
  EXPECT_EQ(verdict("demographic_parity=.2"), Verdict::unclear);
  EXPECT_EQ(verdict("demographic_parity=.1"), Verdict::fail);
  EXPECT_EQ(verdict("equal_opportunity=1"), Verdict::unclear);
  // Best when large: at least the limit, and no more than its inverse.
  EXPECT_EQ(verdict("npv_ratio=.8"), Verdict::pass);
  EXPECT_EQ(verdict("npv_ratio=.9"), Verdict::unclear);
  EXPECT_EQ(verdict("npv_ratio=.96"), Verdict::fail);
  EXPECT_EQ(verdict("selection_ratio=.8"), Verdict::fail);
  EXPECT_EQ(verdict("selection_ratio=.6"), Verdict::unclear);
  EXPECT_EQ(verdict("selection_ratio=.5"), Verdict::pass);
  EXPECT_EQ(verdict("worst_group_accuracy=.5"), Verdict::unclear);  // undefined here
  EXPECT_EQ(verdict("co=1"), Verdict::unclear);
  EXPECT_ERROR(judge_limit(audit, parse_limit("demografic_parity=.1")),
               ErrorKind::bad_option, "did you mean demographic_parity?");
  EXPECT_ERROR(judge_limit(audit, parse_limit("magic=.1")), ErrorKind::bad_option,
               "Often used: co, flip_rate");
}

TEST(AuditCsv, HasOneLinePerFigureAndReadsBack) {
  const AuditReport report = made_up_report({});
  const Table table = parse_csv(csv(sheet_of(report)), "audit.csv", {});
  EXPECT_EQ(table.columns.size(), 8U);
  const auto find = [&](const std::string& group, const std::string& measure) {
    for (Index row = 0; row < table.rows(); ++row)
      if (table.column("group").text(row) == group &&
          table.column("measure").text(row) == measure)
        return row;
    return Index{-1};
  };
  const Index parity = find("Male - Fe|male, \"x\" <y>", "demographic_parity");
  ASSERT_GE(parity, 0);
  EXPECT_EQ(table.column("attribute").text(parity), "sex, \"given\" & <kept>");
  EXPECT_EQ(table.column("value").text(parity), "0.2");
  EXPECT_EQ(table.column("low").text(parity), "0.15");
  EXPECT_EQ(table.column("rows").text(parity), "400");
  EXPECT_EQ(table.column("reason").text(parity), "");
  const Index none = find("", "equal_opportunity");
  ASSERT_GE(none, 0);
  EXPECT_EQ(table.column("value").text(none), "");
  EXPECT_EQ(table.column("reason").text(none), "no labels");
  EXPECT_EQ(table.column("reason").text(find("", "co")), "not_an_input");
}

TEST(AuditMarkdown, CellsCannotEndTheirTable) {
  const std::string text = markdown(sheet_of(made_up_report({"demographic_parity=.1"})));
  EXPECT_NE(text.find("Fe\\|male"), std::string::npos) << text;
  EXPECT_NE(text.find("**FAIL, 1 limit, 1 failed**"), std::string::npos) << text;
  EXPECT_NE(text.find("0.200 [.150, .250]"), std::string::npos) << text;
  // Every line of a table has as many cells as its head.
  std::size_t cells = 0, at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (line.empty() || line[0] != '|')
      cells = 0;
    else if (cells == 0)
      cells = bars;
    else
      EXPECT_EQ(bars, cells) << line;
    at = end + 1;
  }
}

TEST(AuditJunit, HasACasePerLimit) {
  const std::string text =
      junit(sheet_of(made_up_report({"demographic_parity=.1", "demographic_parity=.2",
                                     "demographic_parity=.9", "co=.1"})));
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos;
         at = text.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<testcase "), 4);
  EXPECT_EQ(count("<failure "), 1);
  EXPECT_EQ(count("<skipped "), 2);
  EXPECT_EQ(count("tests=\"4\" failures=\"1\" skipped=\"2\""), 2);
  EXPECT_EQ(count("<y>"), 0);
  EXPECT_GE(count("&lt;y&gt;"), 1);
  EXPECT_GE(count("not read by the model"), 1);
}

// A group of 7 rows: what is told of the others is rounded, in every format.
TEST(AuditJunit, IsMasked) {
  AuditReport report = made_up_report({"npv_ratio=.96"});
  Group few;
  few.value = "few";
  few.rows = 7;
  report.attributes[0].groups.groups.push_back(few);
  report.limits[0].lines[0].interval = {1.2345, 1.1234, 1.3456};
  const std::string text = junit(sheet_of(report));
  EXPECT_NE(text.find("1.230 [1.120, 1.350]"), std::string::npos) << text;
  report.include_rows = true;
  EXPECT_NE(junit(sheet_of(report)).find("1.234 [1.123, 1.346]"), std::string::npos);
}

TEST(Formats, MeasuresNameTheGroupOfTheirOwnSign) {
  AuditReport report = made_up_report({});
  GroupReport& groups = report.attributes[0].groups;
  groups.groups[1].value = "below";
  groups.groups.push_back(groups.groups[1]);
  groups.groups[2].value = "above";
  GroupMeasure gap;
  gap.name = "statistical_parity_difference";
  gap.by_name = true;
  gap.comparisons = {{0, 1, gap.name, {-.2, -.3, -.1}}, {0, 2, gap.name, {.2, .1, .3}}};
  gap.value = gap.comparisons[1].difference;
  gap.farthest = 1;
  groups.named = true;
  groups.measures = {gap};
  report.shown = {gap.name};
  const std::string text = screen(sheet_of(report));
  EXPECT_NE(text.find("  statistical_parity_difference         .200 [.100, .300]          "
                      "above\n"),
            std::string::npos)
      << text;
}

// Two groups, three groups and one that is too small, a flip test, ranges, limits and a
// change: every kind of line, at its place.
TEST(Formats, AScreenKeepsItsForm) {
  AuditReport report = made_up_report({"demographic_parity=.1", "co=.5", "npv_ratio=.8"});
  report.model = "m.safetensors", report.kind = "logistic", report.data = "d.csv";
  report.seen = 3;
  report.task.favorable = "yes";
  report.accuracy = {.8, .79, .81};
  report.log_loss = .4, report.calibration_error = .01;
  AttributeAudit more = report.attributes[0];
  report.attributes[0].name = report.attributes[0].groups.attribute = "sex";
  more.name = more.groups.attribute = "race";
  more.values = {"White", "Black", "Other"};
  more.flip.emplace().co_large = {.04, .03, .05};
  more.flip->large_values = 3, more.flip->worst = 1;
  more.flip->units = 790;  // 10 rows have no value, or one that is new to the model
  more.flip->co_worst = {.0001, .0001, .0002};
  more.flip->cells = {{.from = 0, .to = 1, .rows = 400, .co = {.059, .058, .06}},
                      {.from = 1, .to = 2, .rows = 400, .co = {.0001, .0001, .0002}}};
  for (FlipCell& cell : more.flip->cells) cell.flip_rate = .1;
  GroupReport& groups = more.groups;
  groups.groups.push_back(groups.groups[0]);
  groups.groups.push_back({.value = "Few",
                           .rows = 50,
                           .selection_rate = {},
                           .tpr = {},
                           .fpr = {},
                           .accuracy = {},
                           .rates = {}});
  groups.groups[2].value = "Other";
  groups.measures[0].comparisons.push_back({0, 2, "selection_rate", {-.3, -.4, -.2}});
  groups.measures[0].widest = {1, 2, "selection_rate", {-.5, -.6, -.4}};
  groups.measures[0].pairs = 3;
  more.cuts = {30, 60};
  report.attributes.push_back(more);
  EXPECT_EQ(screen(sheet_of(report)),
            R"(model  m.safetensors (logistic)   yes at p >= 0.50   favourable: yes
data   d.csv, 800 rows, 3 of them seen in training
reads  sex: no    race: no
accuracy 80.0 % [79.0, 81.0]   log loss 0.400   calibration error 0.010

FLIP TEST  one column changed, the rest kept      flip gap (co)  answers change
  sex      not read by the model: no flip test; see the groups
  race     White -> Black                    0.059 [.058, .060]       10.0 %
    worst  Black -> Other                    1e-04 [.000, .000]       10.0 %
           mean, the 3 values with >= 100 rows 0.040     all pairs: --json
           10 rows are not flipped: no value, or one new to the model

GROUPS             rows  yes %               TPR % (positives)      FPR %
sex
  Male              400  25.0 [21.0, 29.5]        - (100)              -
  Fe|male, "x"..    400  25.0 [21.0, 29.5]        - (100)              -
  difference         .200 [.150, .250]    -                    -
  ratio              .600 [.500, .700]
race, against Male; intervals adjusted for 2 comparisons
                   rows  yes %  difference            TPR % difference
  Male              400   25.0                            -
  Fe|male, "x"..    400   25.0  .200 [.150, .250]         - -
  Other             400   25.0  -.300 [-.400, -.200]      - -
  too few rows       50  Few 50
  widest          .500 [.400, .600] Other 25.0 %, Fe|male, "x" <y> 25.0 %, of 3
                  pairs
  a range begins at its cut: 30, 60

LIMITS (the whole interval must lie on one side)
  demographic_parity:sex, "given" & <kept> <= .100
                                  0.200 [.150, .250]                FAIL
    Fe|male, "x" <y>
  co:sex, "given" & <kept> <= .500
    not read by the model: never a pass  NOT ENOUGH
  npv_ratio:sex, "given" & <kept> >= .800
                                  0.900 [.850, .950]                PASS
    Fe|male, "x" <y>
note     1 group (50 rows) was not judged. No limit was set for the rest.
verdict: FAIL, 3 limits, 1 failed, 1 without enough evidence (exit 1)
)");
}

TEST(Formats, TheTableOfOneAttributeHasItsFlipGapAndRates) {
  AuditReport report = made_up_report({});
  AttributeAudit& sex = report.attributes[0];
  sex.name = "sex";
  sex.flip.emplace();
  sex.flip->co = {.1, .09, .11};
  sex.flip->flip_rate = {.127, .12, .13};
  report.accuracy = {.8, .79, .81};
  Sheet sheet;
  sheet.sections.push_back(audit_table(report, "sex"));
  const std::string text = screen(sheet);
  EXPECT_NE(
      text.find("accuracy                                   80.0 %     79.0 .. 81.0\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("flip gap, mean |change of p|                0.100    0.090 .. 0.110\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("answered yes: Male 25.0 %"), std::string::npos) << text;
  EXPECT_NE(
      text.find("difference                                0.200    0.150 .. 0.250\n"),
      std::string::npos)
      << text;
  EXPECT_ERROR((void)audit_table(report, "age"), ErrorKind::bad_option,
               "no flip test of age");
  sex.flip.reset();
  EXPECT_ERROR((void)audit_table(report, "sex"), ErrorKind::bad_option,
               "no flip test of sex");
}

}  // namespace
}  // namespace fmd
