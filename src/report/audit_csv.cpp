#include <cmath>

#include <fmt/format.h>

#include "fmd/data/csv.h"
#include "fmd/report/audit_formats.h"
#include "report/mask_text.h"

namespace fmd {
namespace {

std::string figure(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

class CsvLines {
 public:
  std::string text = "attribute,group,measure,value,low,high,rows,reason\n";

  void add(const std::string& attribute, const std::string& group,
           const std::string& measure, const Interval& interval, Index rows,
           const std::string& reason = "undefined", bool masked = false) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", csv_cell(attribute), csv_cell(group),
                        csv_cell(measure), figure(interval.value), figure(interval.low),
                        figure(interval.high),
                        masked     ? fmd::text::few_rows()
                        : rows < 0 ? ""
                                   : std::to_string(rows),
                        interval.defined() ? "" : csv_cell(reason));
  }
};

void add_groups(const GroupReport& report, CsvLines& lines) {
  const std::string& name = report.attribute;
  for (const Group& g : report.groups) {
    if (g.masked) {
      lines.add(name, g.value, "selection_rate", {}, 0, "fewer than 10 rows", true);
      continue;
    }
    const char* why = g.labels_masked ? "fewer than 10 rows of a label" : "undefined";
    lines.add(name, g.value, "selection_rate", g.selection_rate, g.rows);
    lines.add(name, g.value, "tpr", g.tpr, g.labels_masked ? -1 : g.positives, why);
    lines.add(name, g.value, "fpr", g.fpr, g.labels_masked ? -1 : g.negatives, why);
    lines.add(name, g.value, "accuracy", g.accuracy, g.rows);
    lines.add(name, g.value, "mean_score", {g.mean_score, kUndefined, kUndefined}, g.rows);
    for (const Figure& rate : g.rates)
      if (rate.name != "selection_rate" && rate.name != "tpr" && rate.name != "fpr" &&
          rate.name != "accuracy" && rate.name != "mean_score")
        lines.add(name, g.value, rate.name, rate.value, g.rows, rate.reason);
  }
  const auto value = [&](int g) {
    return report.groups[static_cast<std::size_t>(g)].value;
  };
  for (const GroupMeasure& m : report.measures) {
    if (!m.reason.empty()) {
      lines.add(name, "", m.name, {}, -1, m.reason);
      continue;
    }
    lines.add(name, "", m.name, m.value, -1);
    for (const Comparison& c : m.comparisons) {
      std::string about = value(c.first) + " - " + value(c.second);
      if (m.name == "equalized_odds") about += ", " + c.rate;
      lines.add(name, about, m.name, c.difference,
                report.groups[static_cast<std::size_t>(c.second)].rows);
    }
  }
  lines.add(name, "", "selection_ratio", report.selection_ratio, -1);
  lines.add(name, report.worst_group < 0 ? "" : value(report.worst_group),
            "worst_group_accuracy", report.worst_group_accuracy, -1);
}

void add_flips(const AttributeAudit& a, CsvLines& lines) {
  if (!a.flip) {
    for (const char* measure : {"co", "co_tv", "co_large", "flip_rate"})
      lines.add(a.name, "", measure, {}, -1, a.flip_reason);
    return;
  }
  lines.add(a.name, "", "co", a.flip->co, a.flip->units, "no labels");
  lines.add(a.name, "", "co_tv", a.flip->co_tv, a.flip->units);
  lines.add(a.name, "", "co_large", a.flip->co_large, a.flip->units);
  lines.add(a.name, "", "flip_rate", a.flip->flip_rate, a.flip->units);
  for (const FlipFigure& figure : a.flip->figures)
    lines.add(a.name, figure.about, figure.name, figure.value, a.flip->units,
              figure.reason);
  for (const FlipCell& cell : a.flip->cells)
    lines.add(a.name,
              a.values[static_cast<std::size_t>(cell.from)] + " -> " +
                  a.values[static_cast<std::size_t>(cell.to)],
              "co", cell.co, cell.rows, cell.masked ? "fewer than 10 rows" : "undefined",
              cell.masked);
}

}  // namespace

std::string csv(const AuditReport& full) {
  const AuditReport report = masked(full);
  CsvLines lines;
  const auto whole = [&](const char* measure, double value) {
    lines.add("", "", measure, {value, kUndefined, kUndefined}, report.rows, "no labels");
  };
  lines.add("", "", "accuracy", report.accuracy, report.rows, "no labels");
  whole("log_loss", report.log_loss);
  whole("calibration_error", report.calibration_error);
  for (const AttributeAudit& a : report.attributes) {
    add_flips(a, lines);
    if (!a.cuts.empty()) {
      const SlopeReport none, &slope = a.slope ? *a.slope : none;
      lines.add(a.name, "", "slope_per_unit", slope.per_unit, slope.rows, a.slope_reason);
      lines.add(a.name, "", "slope_per_deviation", slope.per_deviation, slope.rows,
                a.slope_reason);
    }
    add_groups(a.groups, lines);
  }
  for (const GroupReport& cells : report.intersections) add_groups(cells, lines);
  return lines.text;
}

}  // namespace fmd
