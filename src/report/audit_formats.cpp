#include "report/audit_formats.h"

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/safe_text.h"
#include "report/audit_changes.h"
#include "report/audit_words.h"
#include "report/text.h"

namespace fmd::internal {
namespace {

using text::gap;
using text::percent;
using text::percent_range;

void add_limits_to_page(const AuditReport& r, SheetSection& s) {
  for (const AuditWarning& warning : r.warnings)
    s.line("", "Warning: " + warning_words(warning) + ".");
  static const SheetColumns columns = sheet_columns("{limit} {about} {figure} {verdict}");
  if (r.limits.empty()) {
    s.line("", "No limit was set: nothing was judged.");
    return;
  }
  s.line("", verdict_words(r));
  s.blocks.back().strong = true;
  for (const LimitResult& limit : r.limits) {
    if (limit.lines.empty() || !limit.reason.empty())
      s.row(columns,
            {limit_words(limit), "", reason_words(limit.reason), to_string(limit.verdict)});
    // A line that passes says nothing where the limit does not.
    for (const LimitLine& line : limit.lines)
      if (line.verdict != Verdict::pass || limit.verdict == Verdict::pass)
        s.row(columns, {limit_words(limit), line.about, measured(line.interval),
                        to_string(line.verdict)});
  }
}

void add_flips_to_page(const AuditReport& r, SheetSection& s) {
  static const SheetColumns columns =
      sheet_columns("{flip test} {flip gap} {answers that change}");
  for (const AttributeAudit& a : r.attributes) {
    if (!a.flip) {
      s.row(columns, {a.name, no_flip_words(a.flip_reason), ""});
      continue;
    }
    const Interval& rate = a.flip->flip_rate;
    s.row(columns, {a.name,
                    measured(flip_gap(*a.flip)),
                    {percent(rate.value) + " % " + percent_range(rate), rate}});
  }
  for (const AttributeAudit& a : r.attributes)
    if (const std::string left = left_out_words(a, r.rows); !left.empty())
      line(s, "", "{}: {} rows are not flipped: no value, or one new to the model.", a.name,
           left);
}

void add_groups_to_page(const AuditReport& r, const GroupReport& g, SheetSection& s) {
  SheetColumns columns = sheet_columns("{} {rows} {" + text::favourable_word(r.task) +
                                       " %} {difference} {TPR %} {difference} {FPR %} "
                                       "{accuracy %}");
  columns[0].heading = safe_text(g.attribute);
  for (int k = 0; k < static_cast<int>(g.groups.size()); ++k) {
    const Group& group = g.groups[at(k)];
    const auto gap_of = [&](const char* measure) -> SheetCell {
      const Comparison* c = against(g, measure, k);
      if (c != nullptr) return measured(c->difference);
      return k == g.reference ? "reference" : group.compared ? "-" : "too few rows";
    };
    const auto share = [](const Interval& i) { return SheetCell(percent(i.value), i); };
    s.row(columns,
          {group.value, count(group.rows, group.masked), share(group.selection_rate),
           gap_of("demographic_parity"), share(group.tpr), gap_of("equal_opportunity"),
           share(group.fpr), share(group.accuracy)});
  }
  if (const std::string words = mask_words(g); !words.empty())
    s.line("", "Note: " + words + ".");
}

class Figures {
 public:
  explicit Figures(Sheet& sheet) : sheet_(sheet) {}

  void add(const std::string& attribute, const std::string& group,
           const std::string& measure, const Interval& figure, Index rows,
           const std::string& reason = "undefined", bool masked = false) {
    sheet_.figures.push_back({attribute, group, measure, figure,
                              masked     ? few_rows()
                              : rows < 0 ? ""
                                         : std::to_string(rows),
                              reason});
  }

  void add_group(const std::string& name, const Group& g) {
    if (g.masked) {
      add(name, g.value, "selection_rate", {}, 0, "fewer than 10 rows", true);
      return;
    }
    const char* why = g.labels_masked ? "fewer than 10 rows of a label" : "undefined";
    add(name, g.value, "selection_rate", g.selection_rate, g.rows);
    add(name, g.value, "tpr", g.tpr, g.labels_masked ? -1 : g.positives, why);
    add(name, g.value, "fpr", g.fpr, g.labels_masked ? -1 : g.negatives, why);
    add(name, g.value, "accuracy", g.accuracy, g.rows);
    add(name, g.value, "mean_score", {g.mean_score, kUndefined, kUndefined}, g.rows);
    for (const Figure& rate : g.rates)
      if (rate.name != "selection_rate" && rate.name != "tpr" && rate.name != "fpr" &&
          rate.name != "accuracy" && rate.name != "mean_score")
        add(name, g.value, rate.name, rate.value, g.rows, rate.reason);
  }

  void add_groups(const GroupReport& report) {
    const std::string& name = report.attribute;
    for (const Group& g : report.groups) add_group(name, g);
    for (const GroupMeasure& m : report.measures) {
      if (!m.reason.empty()) {
        add(name, "", m.name, {}, -1, m.reason);
        continue;
      }
      add(name, "", m.name, m.value, -1);
      for (const Comparison& c : m.comparisons)
        add(name, between(report, m, c), m.name, c.difference,
            report.groups[at(c.second)].rows);
    }
    add(name, "", "selection_ratio", report.selection_ratio, -1);
    add(name, report.worst_group < 0 ? "" : report.groups[at(report.worst_group)].value,
        "worst_group_accuracy", report.worst_group_accuracy, -1);
  }

  void add_flips(const AttributeAudit& a) {
    const FlipReport none, &flip = a.flip ? *a.flip : none;
    const Index rows = a.flip ? flip.units : -1;
    const std::string why = a.flip ? "undefined" : a.flip_reason;
    add(a.name, "", "co", flip.co, rows, a.flip ? "no labels" : why);
    add(a.name, "", "co_tv", flip.co_tv, rows, why);
    add(a.name, "", "co_large", flip.co_large, rows, why);
    add(a.name, "", "flip_rate", flip.flip_rate, rows, why);
    for (const FlipFigure& figure : flip.figures)
      add(a.name, figure.about, figure.name, figure.value, rows, figure.reason);
    for (const FlipCell& cell : flip.cells)
      add(a.name, flip_words(a.values, cell.from, cell.to), "co", cell.co, cell.rows,
          cell.masked ? "fewer than 10 rows" : "undefined", cell.masked);
    if (a.cuts.empty()) return;
    const SlopeReport flat, &slope = a.slope ? *a.slope : flat;
    add(a.name, "", "slope_per_unit", slope.per_unit, slope.rows, a.slope_reason);
    add(a.name, "", "slope_per_deviation", slope.per_deviation, slope.rows, a.slope_reason);
  }

 private:
  Sheet& sheet_;
};

std::string line_words(const LimitLine& line) {
  return fmt::format("{}{} {}: {}", line.about.empty() ? "" : line.about + " ",
                     gap(line.interval.value), text::range(line.interval),
                     to_string(line.verdict));
}

// The lines that decided, or why there is none.
std::string failure_words(const LimitResult& limit) {
  std::string out;
  for (const LimitLine& line : limit.lines)
    if (line.verdict == limit.verdict) out += (out.empty() ? "" : "; ") + line_words(line);
  const std::string reason = reason_words(limit.reason);
  return out.empty() || reason.empty() ? out + reason : out + "; " + reason;
}

}  // namespace

void add_page(const AuditReport& r, Sheet& sheet) {
  SheetSection& s =
      sheet.add("Audit of " + (r.model.empty() ? "scores" : r.model), "", "", Medium::page);
  line(s, "",
       "{} rows of {}; intervals of {:g} %, adjusted where several "
       "groups are compared.",
       text::count(r.rows), r.data, 100 * r.confidence);
  add_limits_to_page(r, s);
  add_changes_to_page(r, s);
  if (r.accuracy.defined())
    line(s, "", "Accuracy {} % {}, log loss {}, calibration error {}.",
         percent(r.accuracy.value), percent_range(r.accuracy), text::fixed(r.log_loss, 3),
         text::fixed(r.calibration_error, 3));
  add_flips_to_page(r, s);
  if (text::rates_mislead(r.task)) line(s, "", "{}.", text::kRateWords);
  for (const AttributeAudit& a : r.attributes) add_groups_to_page(r, a.groups, s);
  for (const GroupReport& g : r.intersections) {
    const GroupMeasure* m = g.find("demographic_parity");
    if (m == nullptr || !m->widest.difference.defined()) continue;
    line(s, "", "{}: widest difference {} ({}), of {} pairs.", g.attribute,
         measured(m->widest.difference).text, between(g, *m, m->widest), m->pairs);
  }
  if (r.refits)
    for (const RefitFigure& figure : r.refits->figures)
      line(s, "", "Over {} refits on resampled training rows: {}{}{} {}.", r.refits->refits,
           figure.measure, figure.attribute.empty() ? "" : ":", figure.attribute,
           measured(figure.value).text);
  for (const std::string& note : r.notes) s.line("", "Note: " + note + ".");
  s.line("", "A difference says nothing about its cause.");
}

void add_figures(const AuditReport& report, Sheet& sheet) {
  Figures figures(sheet);
  const auto whole = [&](const char* measure, const Interval& value) {
    figures.add("", "", measure, value, report.rows, "no labels");
  };
  whole("accuracy", report.accuracy);
  whole("log_loss", {report.log_loss, kUndefined, kUndefined});
  whole("calibration_error", {report.calibration_error, kUndefined, kUndefined});
  for (const AttributeAudit& a : report.attributes) {
    figures.add_flips(a);
    figures.add_groups(a.groups);
  }
  for (const GroupReport& cells : report.intersections) figures.add_groups(cells);
}

void add_cases(const AuditReport& report, Sheet& sheet) {
  for (const AuditWarning& warning : report.warnings)
    sheet.cases.push_back({"warning " + warning.name,
                           warning.allowed ? Verdict::pass : Verdict::unclear,
                           warning_words(warning), warning_words(warning)});
  for (const LimitResult& limit : report.limits) {
    std::string details;
    for (const LimitLine& line : limit.lines)
      details += (details.empty() ? "" : "; ") + line_words(line);
    sheet.cases.push_back(
        {limit_words(limit), limit.verdict, failure_words(limit), details});
  }
  if (!report.since_previous) return;
  const AuditChanges& since = *report.since_previous;
  std::string worse;
  for (const FigureChange& c : since.changes)
    if (c.direction == Direction::worse)
      worse += fmt::format("{}{}:{} {} {} -> {}", worse.empty() ? "" : "; ",
                           c.after.measure, c.after.attribute, c.after.about(),
                           gap(c.before.interval.value), gap(c.after.interval.value));
  sheet.cases.push_back({"no figure is worse than in " + since.previous.file,
                         worse.empty() ? Verdict::pass : Verdict::fail, worse,
                         pairing_words(since)});
}

}  // namespace fmd::internal
