#include "report/audit_measures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/pair_gaps.h"
#include "fmd/metrics/score_curve.h"
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
std::string rates_of(const GroupReport& g, const std::vector<std::string>& shown) {
  std::string out;
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
    if (!groups.empty())
      out += fmt::format("  {:<22} {}\n", name, text::wrap(groups, 25, 25));
  }
  return out;
}

// Whom the value is about: the comparison that it was taken from.
std::string whom(const GroupReport& g, const GroupMeasure& m) {
  if (!m.about.empty()) return m.about;
  for (const Comparison& c : m.comparisons)
    if (std::abs(c.difference.value) == std::abs(m.value.value))
      return g.groups[static_cast<std::size_t>(c.second)].value;
  return "";
}

std::string chance(double p) { return std::isnan(p) ? "" : text::bare(p); }

std::string measures_of(const GroupReport& g, const std::vector<std::string>& shown) {
  std::string out;
  for (const GroupMeasure& m : g.measures) {
    if (!has(shown, m.name)) continue;
    std::string line =
        m.reason.empty()
            ? fmt::format("  {:<35} {:>6} {:<15} {:<5} {}", m.name,
                          text::bare(m.value.value), text::range(m.value),
                          chance(m.p_value), text::clip(whom(g, m), 12))
            : fmt::format("  {:<35} {:>6} {}", m.name, "-", text::wrap(m.reason, 45, 45));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string flips_of(const FlipReport& flip, const std::vector<std::string>& shown) {
  std::string out;
  for (const FlipFigure& f : flip.figures) {
    if (!has(shown, f.name)) continue;
    const bool ends = !std::isnan(f.value.low);
    out += f.reason.empty()
               ? fmt::format("  {:<36} {:>6}{}", f.name, text::bare(f.value.value),
                             ends ? " " + text::range(f.value) : "")
               : fmt::format("  {:<36} {:>6} {}", f.name, "-", f.reason);
    out += (f.about.empty() ? "" : "   label " + text::clip(f.about, 16)) + "\n";
  }
  return out;
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
    if (!has(known, name)) {
      throw Error(ErrorKind::bad_option, fmt::format("metrics: {} is unknown", name),
                  fmt::format("all, or some of {}", fmt::join(known, ", ")));
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace fmd

namespace fmd::internal {

std::string measures_part(const AuditReport& report) {
  if (report.shown.empty()) return "";
  std::string out;
  for (const AttributeAudit& a : report.attributes) {
    const GroupReport& g = a.groups;
    const std::string rates = rates_of(g, report.shown);
    const std::string measures = measures_of(g, report.shown);
    if (!rates.empty()) out += fmt::format("\nRATES of {}\n{}", a.name, rates);
    const std::string flips = a.flip ? flips_of(*a.flip, report.shown) : "";
    if (!flips.empty()) out += fmt::format("\nFLIPS of {}\n{}", a.name, flips);
    if (measures.empty()) continue;
    const std::string reference =
        g.reference < 0
            ? ""
            : ", against " + g.groups[static_cast<std::size_t>(g.reference)].value;
    out += fmt::format("\nMEASURES of {}{}: the farthest group\n", a.name, reference);
    if (report.permutations > 0 && !report.weighted)
      out += "  p: " +
             text::wrap(fmt::format("chance of a gap as wide when the groups are dealt out "
                                    "at random; {} permutations, seed {}, adjusted for the "
                                    "groups by Holm",
                                    text::count(report.permutations), report.seed),
                        5, 5) +
             "\n";
    out += fmt::format("  {:<35} {:>6} {:<15} p\n", "", "", "interval") + measures;
  }
  return out;
}

}  // namespace fmd::internal
