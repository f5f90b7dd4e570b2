#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/rng.h"
#include "fmd/pipeline/audit_state.h"
#include "fmd/report/audit_report.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;

// Rows of two attributes: `small` has groups of the given sizes, `even` two halves. Every
// third label is favourable, but none beyond `favourable` in the last group.
struct People {
  Scored scored;
  Attribute small, even;
  Task task;
};

People people_of(const std::vector<Index>& sizes, Index favourable = 1000) {
  Rng rng(3, "people");
  People p;
  p.small.name = "small";
  p.even.name = "even";
  p.even.values = p.even.groups = {"left", "right"};
  Index rows = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    p.small.values.push_back("g" + std::to_string(g));
    for (Index i = 0; i < sizes[g]; ++i, ++rows) {
      p.small.code.push_back(static_cast<std::int32_t>(g));
      p.even.code.push_back(static_cast<std::int32_t>(rows % 2));
      const bool last = g + 1 == sizes.size();
      p.scored.y.push_back(i % 3 == 0 && (!last || i / 3 < favourable) ? 1 : 0);
    }
  }
  p.small.groups = p.small.values;
  p.small.group = p.small.code;
  p.even.group = p.even.code;
  p.scored.p.resize(rows, 2);
  for (Index i = 0; i < rows; ++i) {
    p.scored.p(i, 1) = rng.uniform();
    p.scored.p(i, 0) = 1 - p.scored.p(i, 1);
  }
  p.scored.favorable = 1;
  p.scored.decision = decide(p.scored.p, .5);
  p.task.label = "y";
  p.task.classes = {"no", "yes"};
  p.task.favorable = "yes";
  return p;
}

AuditReport audit(const People& p, const AuditOptions& options = {.replicates = 50}) {
  ScoredBlock rows = block_of(p.scored);
  rows.code = {p.small.group, p.even.group};
  const TallyPlan plan{.favorable = 1,
                       .values = {std::ssize(p.small.groups), std::ssize(p.even.groups)}};
  std::vector<TalliedAttribute> both(2);
  both[0].attribute = &p.small;
  both[1].attribute = &p.even;
  return audit_tallies(tally(plan, rows, {}), p.task, both, options, {});
}

TEST(Mask, SmallGroupsKeepTheirNameAlone) {
  const People p = people_of({700, 403, 7});
  const json report = json::parse(to_json(audit(p)));
  const json& g = report["attributes"][0]["groups"];
  EXPECT_EQ(g[2]["value"], "g2");
  EXPECT_EQ(g[2]["rows"], "<10");
  EXPECT_EQ(g[2]["reason"], "fewer than 10 rows");
  for (const char* key :
       {"positives", "negatives", "selection_rate", "tpr", "fpr", "accuracy", "mean_score"})
    EXPECT_TRUE(g[2][key].is_null()) << key;
  for (const json& rate : g[2]["rates"]) {
    EXPECT_TRUE(rate["value"].is_null());
    EXPECT_EQ(rate["reason"], "fewer than 10 rows");
  }
  EXPECT_FALSE(g[2]["compared"]);
  // The other attribute has no small group and is told as it is.
  EXPECT_EQ(report["attributes"][1]["groups"][0]["rows"], 555);
}

// All rows less the rows of the others: the answer must not be the masked number, nor may
// the rightly decided ones be found that way.
TEST(Mask, TotalsLessTheOthersDoNotTell) {
  for (const Index small : {1, 4, 7, 9}) {
    const People p = people_of({700, 403, small});
    const json report = json::parse(to_json(audit(p)));
    double others = 0, right = 0;
    for (const json& g : report["attributes"][0]["groups"]) {
      if (!g["rows"].is_number()) continue;
      EXPECT_EQ(g["rows"].get<Index>() % 10, 0);
      others += g["rows"].get<double>();
      right += g["rows"].get<double>() * g["accuracy"].get<double>();
    }
    // 700 and 400: whatever the small group has, what is left over is the same plus it.
    EXPECT_EQ(others, 1100);
    const double total = report["rows"].get<double>();
    EXPECT_NE(total - others, static_cast<double>(small));
    EXPECT_GT(std::abs(total * report["accuracy"]["value"].get<double>() - right), 0);
  }
}

// Four small groups of 36 rows in all: the sum tells nothing of one, and nothing is
// rounded.
TEST(Mask, CountsStayWhereTotalsTellLittle) {
  const People p = people_of({701, 403, 9, 9, 9, 9});
  const json report = json::parse(to_json(audit(p)));
  const json& g = report["attributes"][0]["groups"];
  EXPECT_EQ(g[0]["rows"], 701);
  EXPECT_EQ(g[1]["rows"], 403);
  for (std::size_t k = 2; k < 6; ++k) EXPECT_EQ(g[k]["rows"], "<10");
}

TEST(Mask, EverySurfaceDoesIt) {
  const People p = people_of({700, 403, 7});
  const AuditReport report = audit(p);
  EXPECT_NE(screen(sheet_of(report)).find("g2 <10"), std::string::npos);
  EXPECT_NE(screen(sheet_of(report)).find("may be rounded"), std::string::npos);
  EXPECT_EQ(screen(sheet_of(report)).find("g2 7"), std::string::npos);
  EXPECT_NE(markdown(sheet_of(report)).find("| g2 | \\<10 | - |"), std::string::npos);
  EXPECT_NE(
      csv(sheet_of(report)).find("small,g2,selection_rate,,,,<10,fewer than 10 rows\n"),
      std::string::npos);
  EXPECT_EQ(csv(sheet_of(report)).find("g2,tpr"), std::string::npos);
  AuditOptions open{.replicates = 50};
  open.include_rows = true;
  const AuditReport all = audit(p, open);
  EXPECT_EQ(json::parse(to_json(all))["attributes"][0]["groups"][2]["rows"], 7);
  EXPECT_EQ(json::parse(to_json(all))["attributes"][0]["groups"][1]["rows"], 403);
  EXPECT_NE(screen(sheet_of(all)).find("g2 7"), std::string::npos);
  EXPECT_EQ(report.attributes[0].groups.groups[2].rows, 7);  // the library knows
}

// A limit that is judged on every group: JUnit names none of fewer than ten rows.
TEST(Mask, LimitsInJUnitDoNotTellASmallGroup) {
  People p = people_of({700, 403, 7});
  for (const char* name : {"small", "even"}) p.task.attributes.push_back({.name = name});
  p.task.limits = std::vector<Limit>{parse_limit("demographic_parity:small=.001"),
                                     parse_limit("equal_opportunity:small=.001")};
  const AuditReport report = audit(p);
  ASSERT_FALSE(report.limits.empty());
  const Sheet sheet = sheet_of(report);
  EXPECT_NE(junit(sheet).find("demographic_parity"), std::string::npos);
  for (const std::string& text : {junit(sheet), markdown(sheet), csv(sheet), screen(sheet)})
    for (std::size_t at = text.find("g2"); at != std::string::npos;
         at = text.find("g2", at + 1)) {
      const std::string rest = text.substr(at, text.find('\n', at) - at);
      EXPECT_EQ(rest.find(".0"), std::string::npos) << rest;  // no figure beside its name
      EXPECT_EQ(rest.find(" 7"), std::string::npos) << rest;
    }
}

TEST(Mask, CellsOfIntersectionsCannotBeSubtracted) {
  const People p = people_of({700, 400, 16});
  const json report = json::parse(to_json(audit(p)));
  // Of 16 rows six are favourable: about as many rows are told, no label, and of no half.
  EXPECT_EQ(report["attributes"][0]["groups"][2]["rows"], 20);
  EXPECT_TRUE(report["attributes"][0]["groups"][2]["positives"].is_null());
  const json& cells = report["intersections"][0]["groups"];
  EXPECT_EQ(cells[4]["rows"], "<10");
  EXPECT_EQ(cells[5]["rows"], "<10");
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(cells[k]["rows"].get<Index>() % 10, 0);
}

TEST(Mask, FewRowsOfALabelHideWhatTellsThem) {
  const People p = people_of({700, 400}, 4);
  const json report = json::parse(to_json(audit(p)));
  const json& g = report["attributes"][0]["groups"][1];
  EXPECT_EQ(g["rows"], 400);
  EXPECT_EQ(g["reason"], "fewer than 10 rows of a label");
  for (const char* key : {"positives", "negatives", "tpr", "fpr"})
    EXPECT_TRUE(g[key].is_null()) << key;
  EXPECT_TRUE(g["selection_rate"].is_number());
  EXPECT_TRUE(g["rates"]["base_rate"]["value"].is_null());
  EXPECT_TRUE(g["rates"]["ppv"]["value"].is_null());
  EXPECT_TRUE(g["rates"]["accuracy"]["value"].is_number());
  const json& measures = report["attributes"][0]["measures"];
  for (const char* name : {"base_rate_difference", "npv_difference", "f1_difference"}) {
    EXPECT_TRUE(measures[name]["value"].is_null()) << name;
    EXPECT_FALSE(measures[name].contains("comparisons")) << name;
  }
  // Figures of all groups together tell them as well, if they look at labels.
  for (const char* name :
       {"worst_cell_accuracy", "unbiased_accuracy", "subgroup_fpr", "bias_amplification",
        "between_group_entropy", "generalized_entropy", "aligned_gap"}) {
    EXPECT_TRUE(measures[name]["value"].is_null()) << name;
    EXPECT_EQ(measures[name]["reason"], "fewer than 10 rows of a label") << name;
  }
  for (const char* name :
       {"statistical_parity_difference", "differential_fairness", "subgroup_selection"})
    EXPECT_TRUE(measures[name]["value"].is_number()) << name;
}

TEST(Mask, SmallGroupsAreNotComparedWhateverTheTaskSays) {
  People p = people_of({700, 400, 7});
  p.task.min_group = 1;
  const AuditReport report = audit(p);
  for (const GroupMeasure& m : report.attributes[0].groups.measures)
    for (const Comparison& c : m.comparisons) EXPECT_NE(c.second, 2) << m.name;
  AuditOptions open{.replicates = 50};
  open.include_rows = true;
  EXPECT_EQ(
      audit(p, open).attributes[0].groups.find("demographic_parity")->comparisons.size(),
      2u);
}

TEST(Mask, FlipsOfFewRowsAreKeptOut) {
  AuditReport report;
  AttributeAudit a;
  a.name = "x";
  a.values = {"a", "b"};
  a.flip.emplace();
  a.flip->cells = {{.from = 0, .to = 1, .rows = 123, .co = {.123456, .1, .2}},
                   {.from = 1, .to = 0, .rows = 9, .co = {.3, .1, .4}}};
  report.attributes = {a};
  const json cells = json::parse(to_json(report))["attributes"][0]["flips"]["cells"];
  EXPECT_EQ(cells[0]["rows"], 120);
  EXPECT_NEAR(cells[0]["co"]["value"].get<double>(), .123, 1e-12);
  EXPECT_EQ(cells[1]["rows"], "<10");
  EXPECT_TRUE(cells[1]["co"]["value"].is_null());
  EXPECT_TRUE(cells[1]["flip_rate"].is_null());
}

}  // namespace
}  // namespace fmd
