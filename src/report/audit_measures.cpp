#include "report/audit_measures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/measure_names.h"
#include "fmd/metrics/pair_gaps.h"
#include "fmd/metrics/score_curve.h"
#include "report/audit_words.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> rate_names() {
  std::vector<std::string> names;
  for (const RateInfo& rate : group_rates()) names.emplace_back(rate.name);
  for (const ScoreMetricInfo& metric : score_metrics()) names.emplace_back(metric.name);
  return names;
}

const Figure* find_figure(const Group& group, const std::string& name) {
  for (const Figure& figure : group.rates)
    if (figure.name == name) return &figure;
  return nullptr;
}

// One line for each rate: every group with its interval.
void add_rates(const GroupReport& g, const std::vector<std::string>& shown, Sheet& sheet) {
  static const SheetColumns columns = sheet_columns("  {rate:22} {groups:~}");
  SheetSection& s = sheet.add("RATES of " + g.attribute);
  for (const std::string& name : rate_names()) {
    if (!has(shown, name)) continue;
    std::string groups;
    for (const Group& group : g.groups) {
      const Figure* figure = find_figure(group, name);
      if (!group.compared || figure == nullptr) continue;
      groups += fmt::format("{}{} {}", groups.empty() ? "" : "   ", group.value,
                            figure->value.defined() ? text::bare(figure->value.value) +
                                                          " " + text::range(figure->value)
                                                    : figure->reason);
    }
    if (!groups.empty()) s.row(columns, {name, groups});
  }
}

void add_flip_figures(const AttributeAudit& a, const std::vector<std::string>& shown,
                      Sheet& sheet) {
  static const SheetColumns columns = sheet_columns("  {measure:36} {value:>6} {interval}");
  if (!a.flip) return;
  SheetSection& s = sheet.add("FLIPS of " + a.name);
  for (const FlipFigure& f : a.flip->figures) {
    if (!has(shown, f.name)) continue;
    const std::string ends = std::isnan(f.value.low) ? "" : text::range(f.value);
    const std::string about = f.about.empty() ? "" : "   label " + text::clip(f.about, 16);
    s.row(columns, {f.name,
                    {f.reason.empty() ? text::bare(f.value.value) : "-", f.value},
                    (f.reason.empty() ? ends : f.reason) + about});
  }
}

// Whom the value is about: the comparison that it was taken from.
std::string whom(const GroupReport& g, const GroupMeasure& m) {
  if (!g.named && m.widest.difference.defined()) return pair_words(g, m, m.widest);
  const Comparison* behind = m.behind_value();
  return behind == nullptr ? m.about : g.groups[at(behind->second)].value;
}

void add_group_measures(const AuditReport& report, const GroupReport& g, Sheet& sheet) {
  static const SheetColumns columns = sheet_columns("  {:35} {:>6} {interval:15} {p:5} {}");
  static const SheetColumns reasons = sheet_columns("  {:35} {:>6} {reason:~}");
  const bool any =
      std::any_of(g.measures.begin(), g.measures.end(),
                  [&](const GroupMeasure& m) { return has(report.shown, m.name); });
  if (!any) return;
  SheetSection& s = sheet.add(
      fmt::format("MEASURES of {}: {}", g.attribute,
                  g.named ? "the farthest group, against " + g.groups[at(g.reference)].value
                          : "the widest pair of groups"));
  if (report.permutations > 0 && !report.weighted)
    line(s, "  p: ",
         "of the group farthest from {}: chance of a gap as wide when the groups are dealt "
         "out at random; {} permutations, seed {}, adjusted for the groups by Holm",
         g.reference < 0 ? "the others" : g.groups[at(g.reference)].value,
         text::count(report.permutations), report.seed);
  s.table(columns);
  for (const GroupMeasure& m : g.measures) {
    if (!has(report.shown, m.name)) continue;
    if (m.reason.empty())
      s.row(columns, {m.name,
                      {text::bare(m.value.value), m.value},
                      text::range(m.value),
                      std::isnan(m.p_value) ? "" : text::bare(m.p_value),
                      whom(g, m)});
    else
      s.row(reasons, {m.name, "-", m.reason});
  }
}

}  // namespace

std::vector<std::string> metric_names(const std::vector<std::string>& asked) {
  std::vector<std::string> known = rate_names();
  for (const auto* more : {&PairGaps::names(), &group_measure_names()})
    for (const std::string& name : *more)
      if (!has(known, name)) known.push_back(name);
  std::vector<std::string> names;
  for (const std::string& name : asked) {
    if (name == "all") return known;
    const std::string rate = find_rate_name(name), measure = find_measure(name);
    if (has(known, rate) || has(known, measure)) {
      names.push_back(has(known, rate) ? rate : measure);
      continue;
    }
    const std::string nearest = nearest_word(name, known);
    throw Error(ErrorKind::bad_option, fmt::format("metrics: {} is unknown", name),
                fmt::format("{}all, or some of {}",
                            nearest.empty() ? "" : "did you mean " + nearest + "? ",
                            fmt::join(known, ", ")));
  }
  return names;
}

}  // namespace fmd

namespace fmd::internal {

void add_measures(const AuditReport& report, Sheet& sheet) {
  if (report.shown.empty()) return;
  for (const AttributeAudit& a : report.attributes) {
    add_rates(a.groups, report.shown, sheet);
    add_flip_figures(a, report.shown, sheet);
    add_group_measures(report, a.groups, sheet);
  }
}

}  // namespace fmd::internal
