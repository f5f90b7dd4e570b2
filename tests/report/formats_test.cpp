#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/report/audit_formats.h"
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
               "measures: co, co_tv");
}

TEST(AuditCsv, HasOneLinePerFigureAndReadsBack) {
  const AuditReport report = made_up_report({});
  const Table table = parse_csv(csv(report), "audit.csv", {});
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
  const std::string text = markdown(made_up_report({"demographic_parity=.1"}));
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
      junit(made_up_report({"demographic_parity=.1", "demographic_parity=.2",
                            "demographic_parity=.9", "co=.1"}));
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

TEST(Formats, TheTableOfOneAttributeHasItsFlipGapAndRates) {
  AuditReport report = made_up_report({});
  AttributeAudit& sex = report.attributes[0];
  sex.name = "sex";
  sex.flip.emplace();
  sex.flip->co = {.1, .09, .11};
  sex.flip->flip_rate = {.127, .12, .13};
  report.accuracy = {.8, .79, .81};
  const std::string text = audit_table(report, "sex");
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
  EXPECT_ERROR(audit_table(report, "age"), ErrorKind::bad_option, "no flip test of age");
  sex.flip.reset();
  EXPECT_ERROR(audit_table(report, "sex"), ErrorKind::bad_option, "no flip test of sex");
}

}  // namespace
}  // namespace fmd
