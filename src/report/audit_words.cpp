#include "report/audit_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/metrics/confusion.h"
#include "report/text.h"

namespace fmd::internal {

std::string no_flip_words(const std::string& reason) {
  if (reason == "not_an_input")
    return "not read by the model: no flip test; see the groups";
  if (reason == "ranges_of_a_number")
    return "ranges of a number have no single value to flip to: no flip test";
  return "no pairs were given: no flip test";
}

std::string reason_words(const std::string& reason) {
  if (reason == "not_an_input") return "not read by the model: never a pass";
  if (reason == "ranges_of_a_number") return "ranges are not flipped";
  if (reason == "no_pairs") return "no pairs were given";
  return reason;
}

std::string limit_words(const LimitResult& limit) {
  return fmt::format("{}:{} {} {}", limit.limit.measure, limit.limit.attribute,
                     is_floor(limit.limit.measure) ? ">=" : "<=",
                     text::bare(limit.limit.value, limit.limit.value < 0.001 ? 6 : 3));
}

std::string shout(Verdict verdict) {
  return verdict == Verdict::pass      ? "PASS"
         : verdict == Verdict::fail    ? "FAIL"
         : verdict == Verdict::unclear ? "NOT ENOUGH"
                                       : "none";
}

std::string verdict_words(const AuditReport& report) {
  Index failed = 0, unclear = 0;
  for (const LimitResult& limit : report.limits) {
    failed += limit.verdict == Verdict::fail;
    unclear += limit.verdict == Verdict::unclear;
  }
  std::string out =
      fmt::format("{}, {} {}, {} failed", shout(report.verdict), report.limits.size(),
                  report.limits.size() == 1 ? "limit" : "limits", failed);
  if (unclear > 0) out += fmt::format(", {} without enough evidence", unclear);
  for (const LimitResult& limit : report.limits)
    if (limit.reason.starts_with("no pass because of")) return out + "; " + limit.reason;
  return out;
}

std::string warning_words(const AuditWarning& warning) {
  return fmt::format("{}: {}{}", warning.name, warning.text,
                     warning.allowed ? " (allowed by --allow)" : "");
}

bool is_shown(const AuditReport& report, const AuditFigure& figure) {
  const AttributeAudit* audit = report.find(figure.attribute);
  const GroupMeasure* measure =
      audit == nullptr ? nullptr : audit->groups.find(figure.measure);
  if (measure == nullptr || !measure->by_name) return true;
  return std::find(report.shown.begin(), report.shown.end(), figure.measure) !=
         report.shown.end();
}

std::string pairing_words(const AuditChanges& changes) {
  if (changes.paired) return "both models on these rows, paired";
  return changes.same_data ? "same rows, not paired: the previous model is not given"
                           : "other rows: not paired";
}

std::string measure_words(const AuditFigure& figure) {
  return figure.measure + (figure.attribute.empty() ? "" : ":" + figure.attribute);
}

std::string flip_words(const std::vector<std::string>& values, int from, int to) {
  return values[at(from)] + " -> " + values[at(to)];
}

std::string between(const GroupReport& groups, const GroupMeasure& measure,
                    const Comparison& comparison) {
  AuditFigure figure;
  figure.measure = measure.name;
  figure.first = groups.groups[at(comparison.first)].value;
  figure.second = groups.groups[at(comparison.second)].value;
  figure.rate = comparison.rate;
  return figure.about();
}

std::string pair_words(const GroupReport& groups, const GroupMeasure& measure,
                       const Comparison& pair) {
  const CriterionInfo* criterion = find_criterion(measure.name);
  if (criterion == nullptr) return between(groups, measure, pair);
  const std::string& u = groups.groups[at(pair.second)].value;
  const std::string& p = groups.groups[at(pair.first)].value;
  if (criterion->ratio) return u + " / " + p;
  return criterion->turned ? p + " - " + u : u + " - " + p;
}

std::pair<int, int> shown_values(const AttributeAudit& audit) {
  const int from = std::max(0, audit.groups.reference);
  return {from, from == 0 ? 1 : 0};
}

const FlipCell* find_cell(const FlipReport& flip, int from, int to) {
  for (const FlipCell& cell : flip.cells)
    if (cell.from == from && cell.to == to) return &cell;
  return nullptr;
}

const Comparison* against(const GroupReport& groups, const char* measure, int group,
                          const std::string& rate) {
  const GroupMeasure* m = groups.find(measure);
  if (m == nullptr) return nullptr;
  for (const Comparison& c : m->comparisons)
    if (c.second == group && (rate.empty() || c.rate == rate)) return &c;
  return nullptr;
}

const Interval& flip_gap(const FlipReport& flip) {
  return flip.co.defined() ? flip.co : flip.co_tv;
}

Index rows_left_out(const AttributeAudit& audit, Index rows) {
  if (!audit.flip || audit.pairs != PairKind::flip) return 0;
  return std::max<Index>(0, rows - audit.flip->units);
}

std::string left_out_words(const AttributeAudit& audit, Index rows) {
  if (audit.few_left_out) return few_rows();
  const Index left = rows_left_out(audit, rows);
  return left == 0 ? "" : text::count(left);
}

SheetCell measured(const Interval& i) {
  if (!i.defined()) return "-";
  return {text::gap(i.value) + " " + text::range(i), i};
}

std::string few_rows() { return fmt::format("<{}", kMaskedRows); }

std::string count(Index n, bool masked) { return masked ? few_rows() : text::count(n); }

bool has_masked(const GroupReport& groups) {
  return std::any_of(groups.groups.begin(), groups.groups.end(),
                     [](const Group& group) { return group.masked; });
}

std::string mask_words(const GroupReport& groups) {
  const bool any =
      std::any_of(groups.groups.begin(), groups.groups.end(),
                  [](const Group& group) { return group.masked || group.labels_masked; });
  if (!any) return "";
  return fmt::format(
      "groups and labels under {} rows are masked; other counts may be rounded",
      kMaskedRows);
}

const SheetColumns& flip_columns() {
  static const SheetColumns columns = sheet_columns(
      "  {attribute:8.} {values:33.} {flip gap:>5} {interval:16} {answers:>8}");
  return columns;
}

}  // namespace fmd::internal
