#include "fmd/report/limits.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/report/audit_report.h"
#include "support/close.h"

namespace fmd {
namespace {

// Three groups: the reference is in the middle, so the widest pair is not one of its own.
AttributeAudit three_groups() {
  AttributeAudit audit;
  audit.name = "race";
  audit.values = {"White", "Black", "Other"};
  GroupReport& groups = audit.groups;
  for (const std::string& value : audit.values) {
    Group group;
    group.value = value;
    group.rows = 400;
    group.compared = true;
    groups.groups.push_back(group);
  }
  groups.reference = 0;
  GroupMeasure parity;
  parity.name = "demographic_parity";
  parity.comparisons = {{0, 1, "selection_rate", {.2, .15, .25}},
                        {0, 2, "selection_rate", {-.3, -.34, -.26}}};
  parity.widest = {2, 1, "selection_rate", {.5, .45, .55}};
  parity.pairs = 3;
  parity.value = parity.widest.difference;
  groups.measures = {parity};
  FlipReport& flip = audit.flip.emplace();
  flip.co = {.04, .03, .05};
  flip.co_worst = {.2, .15, .25};
  flip.cells = {{.from = 0, .to = 1, .rows = 400, .co = {.2, .17, .23}}};
  flip.worst = 0;
  flip.units = 1200;
  return audit;
}

LimitResult judged(const AttributeAudit& audit, const char* limit) {
  return judge_limit(audit, parse_limit(limit));
}

TEST(Limits, JudgeTheWidestPairUnlessAReferenceIsNamed) {
  AttributeAudit audit = three_groups();
  EXPECT_EQ(judged(audit, "demographic_parity=.4").verdict, Verdict::fail);
  EXPECT_EQ(judged(audit, "demographic_parity=.5").verdict, Verdict::unclear);
  const LimitResult passed = judged(audit, "demographic_parity=.6");
  EXPECT_EQ(passed.verdict, Verdict::pass);
  ASSERT_EQ(passed.lines.size(), 1U);
  EXPECT_EQ(passed.lines[0].about, "Other - Black");
  audit.groups.named = true;
  EXPECT_EQ(judged(audit, "demographic_parity=.4").verdict, Verdict::pass);
  EXPECT_EQ(judged(audit, "demographic_parity=.4").lines.size(), 2U);
}

TEST(Limits, AnUnknownWorstPairNeverPassesByTheMean) {
  AttributeAudit audit = three_groups();
  audit.flip->worst = -1;  // no pair of values with enough rows
  audit.flip->co_worst = {};
  const LimitResult result = judged(audit, "co=.1");
  EXPECT_EQ(result.verdict, Verdict::unclear);
  EXPECT_EQ(result.limit.measure, "co_worst");
  EXPECT_TRUE(result.lines.empty());
  EXPECT_EQ(judged(audit, "co=.02").verdict, Verdict::fail);  // the worst is above the mean
  EXPECT_EQ(judged(audit, "co_mean=.1").verdict, Verdict::pass);
}

TEST(Limits, TheFlipGapOfManyValuesIsTheWorstPair) {
  AttributeAudit audit = three_groups();
  const LimitResult worst = judged(audit, "co=.1");
  EXPECT_EQ(worst.verdict, Verdict::fail);
  EXPECT_EQ(worst.limit.measure, "co_worst");
  EXPECT_EQ(worst.asked, "co");
  EXPECT_EQ(worst.lines[0].about, "White -> Black");
  EXPECT_EQ(worst.lines[0].interval.high, .25);
  EXPECT_EQ(judged(audit, "co_mean=.1").verdict, Verdict::pass);
  EXPECT_EQ(judged(audit, "flip_gap=.1").limit.measure, "co_worst");
  audit.values = {"White", "Black"};
  EXPECT_EQ(judged(audit, "co=.1").limit.measure, "co");
  EXPECT_EQ(judged(audit, "co=.1").verdict, Verdict::pass);

  AuditReport report;
  report.task.classes = {"no", "yes"};
  report.attributes = {three_groups()};
  report.limits = {worst};
  report.verdict = overall(report.limits);
  const Sheet sheet = sheet_of(report);
  EXPECT_NE(screen(sheet).find("co_worst:race <= .100"), std::string::npos);
  EXPECT_NE(screen(sheet).find("co_mean judges the mean"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"measure\": \"co_worst\""), std::string::npos);
  EXPECT_NE(to_json(report).find("\"asked\": \"co\""), std::string::npos);
  EXPECT_NE(junit(sheet).find("co_worst:race"), std::string::npos);
}

TEST(Limits, FewRowsNeverPass) {
  AttributeAudit audit = three_groups();
  EXPECT_EQ(judged(audit, "co_mean=.9").verdict, Verdict::pass);
  audit.flip->units = kLimitRows - 1;
  EXPECT_EQ(judged(audit, "co_mean=.9").verdict, Verdict::unclear);
  EXPECT_EQ(judged(audit, "co_mean=.01").verdict, Verdict::fail);
  for (Group& group : audit.groups.groups) group.rows = 10;
  EXPECT_EQ(judged(audit, "demographic_parity=.9").verdict, Verdict::unclear);
}

TEST(Limits, AMeasureThatThisRunDidNotTakeIsUnclear) {
  const LimitResult result = judged(three_groups(), "disparate_impact=.8");
  EXPECT_EQ(result.verdict, Verdict::unclear);
  EXPECT_EQ(result.reason, "not measured here");
}

TEST(Limits, NamesAreCheckedBeforeAnythingIsMeasured) {
  Task task;
  task.attributes.push_back({.name = "race"});
  task.limits = {parse_limit("demographic_parity_difference:race=.1")};
  EXPECT_NO_THROW(require_limits(task));
  task.limits = {parse_limit("demografic_parity=.1")};
  EXPECT_ERROR(require_limits(task), ErrorKind::bad_option,
               "did you mean demographic_parity?");
  task.limits = {parse_limit("co:sex=.1")};
  EXPECT_ERROR(require_limits(task), ErrorKind::bad_option, "sex is not an attribute");
}

}  // namespace
}  // namespace fmd
