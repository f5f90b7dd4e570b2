#include "fmd/report/audit_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "report/audit_changes.h"
#include "report/audit_formats.h"
#include "report/audit_measures.h"
#include "report/audit_words.h"
#include "report/match_report.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::clip;
using text::fixed;
using text::gap;
using text::percent;
using text::percent_range;
using text::range;

const std::string kFlipIndent(11, ' ');

std::string favourable_words(const Task& task) {
  const int favorable = task.favorable_class();
  return "favourable: " + (favorable < 0 ? "none named" : task.classes[at(favorable)]);
}

std::string decision_words(const Task& task) {
  if (!task.binary()) return "answers the most probable class";
  const std::string threshold = fixed(task.threshold, 2);
  if (task.favorable_class() == 1) return "yes at p >= " + threshold;
  return fmt::format("{} at p({} = {}) >= {}", task.classes[1], task.label, task.classes[1],
                     threshold);
}

void add_source(const AuditReport& r, SheetSection& s) {
  if (r.model.empty()) {
    line(s, "scores ", "{}, {} rows    {}    {}", r.data, text::count(r.rows),
         decision_words(r.task), favourable_words(r.task));
    return;
  }
  line(s, "model  ", "{} ({})   {}   {}", r.model, r.kind, decision_words(r.task),
       favourable_words(r.task));
  s.line("data   ", fmt::format("{}, {} rows", r.data, text::count(r.rows)) +
                        (r.seen < 0 ? ", not compared with the rows of the training"
                                    : ", " + text::seen(r.seen, r.seen_by_chance)));
  std::string reads;
  for (const AttributeAudit& a : r.attributes)
    reads += fmt::format("{}{}: {}", reads.empty() ? "" : "    ", a.name,
                         a.reads == Reads::yes ? "yes" : "no");
  s.line("reads  ", reads);
}

void add_top(const AuditReport& r, Sheet& sheet) {
  SheetSection& s = sheet.add();
  add_source(r, s);
  if (r.ledger) s.line("ledger ", words(*r.ledger));
  if (r.missing_numbers > 0)
    line(s, "note   ", "{} missing numbers counted as the training mean",
         text::count(r.missing_numbers));
  if (r.weighted)
    line(s, "note   ",
         "each row counts by its {}: rates are shares of the total, "
         "intervals use the effective number of rows; the flip test counts "
         "every row the same",
         r.task.weight);
  if (!r.accuracy.defined())
    s.line("", "no labels: accuracy, TPR and FPR are not measured");
  else
    line(s, "accuracy ", "{} % {}   log loss {}   calibration error {}",
         percent(r.accuracy.value), percent_range(r.accuracy), fixed(r.log_loss, 3),
         fixed(r.calibration_error, 3));
}

void add_flip(const std::string& name, const std::string& values, const Interval& co,
              double answers, SheetSection& s) {
  s.row(flip_columns(),
        {name, values, {gap(co.value), co}, range(co), percent(answers) + " %"});
}

void add_slope(const SlopeReport& slope, SheetSection& s) {
  line(s, kFlipIndent, "slope, mean |change of p| per deviation ({:.4g}) {} {}",
       slope.deviation, gap(slope.per_deviation.value), range(slope.per_deviation));
  line(s, kFlipIndent, "per unit {:.2g} [{:.2g}, {:.2g}]{}", slope.per_unit.value,
       slope.per_unit.low, slope.per_unit.high,
       std::isnan(slope.signed_per_unit) ? ""
       : slope.signed_per_unit < 0       ? "; p of the favourable answer falls"
                                         : "; p of the favourable answer rises");
}

// Many values: the pair that screens show, the worst one, and the mean.
void add_flips_of_many(const AttributeAudit& a, Index min_group, SheetSection& s) {
  const FlipReport& flip = *a.flip;
  const auto [from, to] = shown_values(a);
  const FlipCell* shown = find_cell(flip, from, to);
  const FlipCell* worst = flip.worst < 0 ? nullptr : &flip.cells[at(flip.worst)];
  for (const FlipCell* cell : {shown, worst == shown ? nullptr : worst})
    if (cell != nullptr)
      add_flip(cell == shown ? a.name : "  worst",
               flip_words(a.values, cell->from, cell->to),
               cell == worst ? flip.co_worst : cell->co, cell->flip_rate, s);
  if (flip.large_values < 2) return;
  line(s, kFlipIndent, "mean, the {} values with >= {} rows {}     all pairs: --json",
       flip.large_values, min_group, gap(flip.co_large.value));
}

void add_flips(const AuditReport& r, Sheet& sheet) {
  SheetSection& s = sheet.add("FLIP TEST ", "one column changed, the rest kept",
                              "      flip gap (co)  answers change");
  for (const AttributeAudit& a : r.attributes) {
    if (!a.flip) {
      s.line(fmt::format("  {:<8} ", clip(a.name, 8)), no_flip_words(a.flip_reason));
      if (a.slope) add_slope(*a.slope, s);
    } else if (a.pairs == PairKind::given || a.values.size() == 2) {
      add_flip(a.name,
               a.pairs == PairKind::given ? text::count(a.flip->pairs) + " given pairs"
                                          : a.values[0] + " <-> " + a.values[1],
               flip_gap(*a.flip), a.flip->flip_rate.value, s);
    } else {
      add_flips_of_many(a, r.task.min_group, s);
    }
    if (const std::string left = left_out_words(a, r.rows); !left.empty())
      line(s, kFlipIndent, "{} rows are not flipped: no value, or one new to the model",
           left);
  }
}

void add_too_few(const GroupReport& g, SheetSection& s) {
  static const SheetColumns columns = sheet_columns("  {:14}{rows:>7}  {groups:~}");
  Index rows = 0;
  std::string names;
  for (const Group& group : g.groups) {
    if (group.compared) continue;
    rows += group.rows;
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", group.value,
                         count(group.rows, group.masked));
  }
  if (!names.empty())
    s.row(columns, {"too few rows", has_masked(g) ? "" : text::count(rows), names});
}

SheetCell difference(const Comparison* c, int digits = 3) {
  if (c == nullptr || !c->difference.defined()) return "-";
  return {bare(c->difference.value, digits) + " " + range(c->difference, digits),
          c->difference};
}

void add_group_row(const Group& group, SheetSection& s) {
  static const SheetColumns rates = sheet_columns(
      "  {:14.}{rows:>7}  {yes %:5}{interval:14}  {TPR %:>5} {(positives):14} {FPR %:>5}");
  s.row(rates,
        {group.value,
         text::count(group.rows),
         {percent(group.selection_rate.value), group.selection_rate},
         percent_range(group.selection_rate),
         {percent(group.tpr.value), group.tpr},
         group.labels_masked ? "" : fmt::format("({})", text::count(group.positives)),
         {percent(group.fpr.value), group.fpr}});
}

// Two groups: both rates with intervals, their differences below.
void add_two_groups(const GroupReport& g, SheetSection& s) {
  static const SheetColumns differences =
      sheet_columns("  {:18} {yes %:20} {TPR %:20} {FPR %}");
  s.line("", g.attribute);
  int other = -1;
  for (std::size_t k = 0; k < g.groups.size(); ++k) {
    if (!g.groups[k].compared) continue;
    if (static_cast<int>(k) != g.reference) other = static_cast<int>(k);
    add_group_row(g.groups[k], s);
  }
  s.row(differences, {"difference", difference(against(g, "demographic_parity", other)),
                      difference(against(g, "equal_opportunity", other)),
                      difference(against(g, "equalized_odds", other, "fpr"), 2)});
  s.row(differences, {"ratio",
                      {bare(g.selection_ratio.value) + " " + range(g.selection_ratio),
                       g.selection_ratio}});
  add_too_few(g, s);
}

void add_widest(const GroupReport& g, SheetSection& s) {
  const GroupMeasure* parity = g.find("demographic_parity");
  if (parity == nullptr || !parity->widest.difference.defined()) return;
  const Comparison& w = parity->widest;
  const bool turned = w.difference.value < 0;
  const Interval d = turned ? -w.difference : w.difference;
  const Group& high = g.groups[at(turned ? w.second : w.first)];
  const Group& low = g.groups[at(turned ? w.first : w.second)];
  line(s, "  widest          ", "{} {} {} {} %, {} {} %, of {} {}", bare(d.value), range(d),
       high.value, percent(high.selection_rate.value), low.value,
       percent(low.selection_rate.value), parity->pairs,
       parity->pairs == 1 ? "pair" : "pairs");
}

void add_many_groups(const GroupReport& g, const std::string& word, SheetSection& s) {
  const SheetColumns columns = sheet_columns(
      "  {:14.}{rows:>7}  {" + word + " %:>5}  {difference:20}  {TPR %:>5} {difference}");
  const GroupMeasure* parity = g.find("demographic_parity");
  line(s, "", "{}, against {}; intervals adjusted for {} comparisons", g.attribute,
       g.groups[at(g.reference)].value, parity == nullptr ? 0 : parity->comparisons.size());
  s.table(columns);
  for (int k = 0; k < static_cast<int>(g.groups.size()); ++k) {
    const Group& group = g.groups[at(k)];
    if (!group.compared) continue;
    const auto gap_of = [&](const char* measure) {
      return k == g.reference ? SheetCell("") : difference(against(g, measure, k));
    };
    s.row(columns, {group.value,
                    text::count(group.rows),
                    {percent(group.selection_rate.value), group.selection_rate},
                    gap_of("demographic_parity"),
                    {percent(group.tpr.value), group.tpr},
                    gap_of("equal_opportunity")});
  }
  add_too_few(g, s);
  add_widest(g, s);
}

Index compared_groups(const GroupReport& g) {
  return std::count_if(g.groups.begin(), g.groups.end(),
                       [](const Group& group) { return group.compared; });
}

void add_groups(const AuditReport& r, Sheet& sheet) {
  const std::string word = text::favourable_word(r.task);
  SheetSection& s = sheet.add(
      "GROUPS", "",
      fmt::format("            rows  {:<19} TPR % (positives)      FPR %", word + " %"));
  if (text::rates_mislead(r.task)) s.line("", text::kRateWords);
  for (const AttributeAudit& a : r.attributes) {
    const GroupMeasure* parity = a.groups.find("demographic_parity");
    if (parity != nullptr && !parity->reason.empty()) {
      s.line("", a.name);
      for (const Group& group : a.groups.groups)
        if (group.compared) add_group_row(group, s);
      s.line("  not compared: ", parity->reason);
      add_too_few(a.groups, s);
    } else if (compared_groups(a.groups) == 2) {
      add_two_groups(a.groups, s);
    } else {
      add_many_groups(a.groups, word, s);
    }
    if (!a.cuts.empty())
      line(s, "  a range begins at its cut: ", "{}", fmt::join(a.cuts, ", "));
  }
  for (const GroupReport& g : r.intersections) {
    const Index cells = compared_groups(g);
    line(s, "", "{}, {} with >= {} rows", g.attribute,
         cells < 2 ? "fewer than two cells" : fmt::format("{} cells", cells),
         r.task.min_group);
    add_widest(g, s);
  }
  for (const AttributeAudit& a : r.attributes)
    if (const std::string words = mask_words(a.groups); !words.empty()) {
      s.line("note   ", words);
      break;
    }
}

void add_refits(const AuditReport& r, Sheet& sheet) {
  if (!r.refits) return;
  static const SheetColumns columns =
      sheet_columns("  {attribute:14.} {measure:22} {figure:>6} {interval}");
  SheetSection& s = sheet.add(
      "REFITS", fmt::format("trained again on {} samples of the training rows, measured "
                            "on the same rows",
                            r.refits->refits));
  for (const RefitFigure& figure : r.refits->figures)
    s.row(columns, {figure.attribute,
                    figure.measure,
                    {gap(figure.value.value), figure.value},
                    range(figure.value)});
}

// The groups that no limit looks at.
std::string unjudged_words(const AuditReport& r) {
  Index rows = 0, groups = 0;
  bool hidden = false;
  for (const AttributeAudit& a : r.attributes)
    for (const Group& g : a.groups.groups)
      if (!g.compared) {
        rows += g.rows;
        hidden = hidden || g.masked;
        ++groups;
      }
  if (groups == 0) return "";
  return fmt::format("{} {}{} {} not judged. ", groups, groups == 1 ? "group" : "groups",
                     hidden ? "" : fmt::format(" ({} rows)", text::count(rows)),
                     groups == 1 ? "was" : "were");
}

constexpr std::size_t kAboutWidth = 12, kNameWidth = 30, kReasonWidth = 34,
                      kLineOfReason = 60;

void add_limit(const LimitResult& limit, SheetSection& s) {
  static const SheetColumns figures =
      sheet_columns("  {limit:30.} {figure:>6} {interval:14} {about:12} {verdict}");
  static const SheetColumns reasons = sheet_columns("  {limit:30} {reason:34} {verdict}");
  std::string name = limit_words(limit);
  const std::string reason = reason_words(limit.reason);
  // The limit's value must be seen, and the reason.
  if (name.size() > kNameWidth || reason.size() > kReasonWidth) {
    s.line("  ", name);
    name.clear();
  }
  if (limit.lines.empty() || !limit.reason.empty()) {
    if (name.empty())
      s.line("    ", reason.size() <= kLineOfReason ? reason + "  " + shout(limit.verdict)
                                                    : shout(limit.verdict) + ": " + reason);
    else
      s.row(reasons, {name, reason, shout(limit.verdict)});
    if (!limit.lines.empty()) name.clear();
  }
  // When one line does not pass, the lines that pass are left out.
  for (const LimitLine& line : limit.lines) {
    if (line.verdict == Verdict::pass && limit.verdict != Verdict::pass) continue;
    const bool fits = line.about.size() <= kAboutWidth;
    s.row(figures, {name,
                    {gap(line.interval.value), line.interval},
                    range(line.interval),
                    fits ? line.about : "",
                    shout(line.verdict)});
    if (!fits) s.line("    ", line.about);
    name.clear();
  }
  if (limit.asked == "co" && limit.limit.measure == "co_worst")
    s.line("    ", "the worst pair of values; co_mean judges the mean");
}

void add_warnings(const AuditReport& r, Sheet& sheet) {
  if (r.warnings.empty()) return;
  SheetSection& s =
      sheet.add("WARNINGS", "(no limit passes beside one, unless --allow names it)");
  for (const AuditWarning& warning : r.warnings) s.line("  ", warning_words(warning));
}

void add_limits(const AuditReport& r, Sheet& sheet) {
  const std::string unjudged = unjudged_words(r);
  if (r.limits.empty()) {
    SheetSection& s = sheet.add();
    s.blank();
    if (!unjudged.empty()) s.line("note     ", unjudged);
    s.line("verdict: ", "none. No limit was set: nothing was judged.");
    return;
  }
  SheetSection& s = sheet.add("LIMITS", "(the whole interval must lie on one side)");
  for (const LimitResult& limit : r.limits) add_limit(limit, s);
  s.line("note     ", unjudged + "No limit was set for the rest.");
  const int code = r.verdict == Verdict::fail ? 1 : r.verdict == Verdict::unclear ? 3 : 0;
  line(s, "verdict: ", "{} (exit {})", verdict_words(r), code);
}

}  // namespace

const AttributeAudit* AuditReport::find(const std::string& attribute) const {
  for (const AttributeAudit& audit : attributes)
    if (audit.name == attribute) return &audit;
  return nullptr;
}

SheetSection audit_table(const AuditReport& full, const std::string& attribute) {
  const AuditReport report = masked(full);
  const AttributeAudit* audit = report.find(attribute);
  if (audit == nullptr || !audit->flip) {
    throw Error(ErrorKind::bad_option,
                fmt::format("audit table: there is no flip test of {}", attribute),
                "name an attribute that was audited and that the model reads");
  }
  const SheetColumns columns = sheet_columns(fmt::format(
      "  {{:41}} {{value:>7}}    {{{:g} % interval}}", 100 * report.confidence));
  SheetSection s;
  const auto add = [&](const char* name, const Interval& i, bool share) {
    const auto text = [&](double x) { return share ? percent(x) : fixed(x, 3); };
    s.row(columns, {name,
                    {text(i.value) + (share ? " %" : ""), i},
                    fmt::format("{:>5} .. {}", text(i.low), text(i.high))});
  };
  s.table(columns);
  add("accuracy", report.accuracy, true);
  add("flip gap, mean |change of p|", audit->flip->co, false);
  add("answers that change", audit->flip->flip_rate, true);
  std::string rates;
  for (const Group& group : audit->groups.groups)
    rates += fmt::format("{}{} {} %", rates.empty() ? "" : ", ", group.value,
                         percent(group.selection_rate.value));
  s.line("  answered yes: ", rates);
  const GroupMeasure* parity = audit->groups.find("demographic_parity");
  if (parity != nullptr && !parity->comparisons.empty())
    add("  difference", parity->comparisons[0].difference, false);
  return s;
}

Sheet sheet_of(const AuditReport& full) {
  const AuditReport report = masked(full);
  Sheet sheet;
  sheet.command = "audit";
  sheet.data = report.data;
  add_top(report, sheet);
  add_flips(report, sheet);
  add_matches(report, sheet);
  add_groups(report, sheet);
  add_measures(report, sheet);
  add_changes(report, sheet);
  add_refits(report, sheet);
  add_warnings(report, sheet);
  add_limits(report, sheet);
  for (SheetSection& section : sheet.sections) section.on = Medium::screen;
  add_page(report, sheet);
  add_figures(report, sheet);
  add_cases(report, sheet);
  return sheet;
}

}  // namespace fmd
