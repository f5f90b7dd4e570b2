#include "fmd/report/audit_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "report/audit_changes.h"
#include "report/audit_measures.h"
#include "report/limit_words.h"
#include "report/mask_text.h"
#include "report/match_report.h"
#include "report/range_lines.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::clip;
using text::count;
using text::fixed;
using text::gap;
using text::percent;
using text::percent_range;
using text::range;
using text::wrap;

std::string favourable_words(const Task& task) {
  const int favorable = task.favorable_class();
  if (favorable < 0) return "favourable: none named";
  return "favourable: " + task.classes[static_cast<std::size_t>(favorable)];
}

std::string decision_words(const Task& task) {
  if (!task.binary()) return "answers the most probable class";
  const std::string threshold = fixed(task.threshold, 2);
  if (task.favorable_class() == 1) return "yes at p >= " + threshold;
  return fmt::format("{} at p({} = {}) >= {}", task.classes[1], task.label, task.classes[1],
                     threshold);
}

std::string top(const AuditReport& r) {
  std::string out;
  if (r.model.empty()) {
    out += fmt::format("scores {}, {} rows    {}    {}\n", r.data, count(r.rows),
                       decision_words(r.task), favourable_words(r.task));
  } else {
    const std::string model = fmt::format("{} ({})   {}   {}", r.model, r.kind,
                                          decision_words(r.task), favourable_words(r.task));
    out += "model  " + wrap(model, 7, 7) + "\n";
    std::string data = fmt::format("{}, {} rows", r.data, count(r.rows));
    if (r.seen >= 0) data += ", " + text::seen(r.seen, r.seen_by_chance);
    out += "data   " + wrap(data, 7, 7) + "\n";
    std::string reads;
    for (const AttributeAudit& a : r.attributes)
      reads += fmt::format("{}{}: {}", reads.empty() ? "" : "    ", a.name,
                           a.reads == Reads::yes ? "yes" : "no");
    out += "reads  " + reads + "\n";
  }
  if (r.missing_numbers > 0)
    out += fmt::format("note   {} missing numbers counted as the training mean\n",
                       count(r.missing_numbers));
  if (r.weighted)
    out += fmt::format(
        "note   each row counts by its {}: rates are shares of the total, intervals use\n  "
        "     the effective number of rows; the flip test counts every row the same\n",
        r.task.weight);
  if (r.accuracy.defined()) {
    out += fmt::format("accuracy {} % {}   log loss {}   calibration error {}\n",
                       percent(r.accuracy.value), percent_range(r.accuracy),
                       fixed(r.log_loss, 3), fixed(r.calibration_error, 3));
  } else {
    out += "no labels: accuracy, TPR and FPR are not measured\n";
  }
  return out;
}

std::string flip_line(const std::string& name, const std::string& values,
                      const Interval& co, const std::string& answers) {
  return fmt::format("  {:<8} {:<33} {:>5} {:<16} {:>8}\n", clip(name, 8), clip(values, 33),
                     gap(co.value), range(co), answers);
}

const FlipCell* find_cell(const FlipReport& flip, int from, int to) {
  for (const FlipCell& cell : flip.cells)
    if (cell.from == from && cell.to == to) return &cell;
  return nullptr;
}

std::string flip_part(const AuditReport& r) {
  std::string out =
      "\nFLIP TEST  one column changed, the rest kept      flip gap       answers change\n";
  for (const AttributeAudit& a : r.attributes) {
    if (!a.flip) {
      out += fmt::format("  {:<8} {}\n", clip(a.name, 8), no_flip_words(a.flip_reason)) +
             slope_lines(a);
      continue;
    }
    const FlipReport& flip = *a.flip;
    const Interval& co = flip.co.defined() ? flip.co : flip.co_tv;
    const std::string answers = percent(flip.flip_rate.value) + " %";
    if (a.pairs == "given") {
      out +=
          flip_line(a.name, fmt::format("{} given pairs", count(flip.pairs)), co, answers);
      continue;
    }
    if (a.values.size() == 2) {
      out += flip_line(a.name, a.values[0] + " <-> " + a.values[1], co, answers);
      continue;
    }
    const int from = std::max(0, a.groups.reference);
    const int to = from == 0 ? 1 : 0;
    if (const FlipCell* cell = find_cell(flip, from, to)) {
      out += flip_line(a.name,
                       a.values[static_cast<std::size_t>(from)] + " -> " +
                           a.values[static_cast<std::size_t>(to)],
                       cell->co, percent(cell->flip_rate) + " %");
    }
    if (flip.worst >= 0) {
      const FlipCell& worst = flip.cells[static_cast<std::size_t>(flip.worst)];
      if (worst.from != from || worst.to != to)
        out += flip_line("  worst",
                         a.values[static_cast<std::size_t>(worst.from)] + " -> " +
                             a.values[static_cast<std::size_t>(worst.to)],
                         worst.co, percent(worst.flip_rate) + " %");
    }
    out += fmt::format(
        "           mean, the {} values with >= {} rows {}     all pairs: --json\n",
        flip.large_values, r.task.min_group, gap(flip.co_large.value));
  }
  return out;
}

std::string too_few(const GroupReport& g) {
  Index rows = 0;
  std::string names;
  for (const Group& group : g.groups) {
    if (group.compared) continue;
    rows += group.rows;
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", group.value,
                         count(group.rows, group.masked));
  }
  if (names.empty()) return "";
  return fmt::format("  {:<14}{:>7}  {}\n", "too few rows",
                     text::has_masked(g) ? "" : count(rows), wrap(names, 25, 25));
}

const Comparison* against(const GroupReport& g, const char* measure, int group,
                          const std::string& rate = "") {
  const GroupMeasure* m = g.find(measure);
  if (m == nullptr) return nullptr;
  for (const Comparison& c : m->comparisons)
    if (c.second == group && (rate.empty() || c.rate == rate)) return &c;
  return nullptr;
}

std::string difference(const Comparison* c, int digits = 3) {
  if (c == nullptr || !c->difference.defined()) return "-";
  return fmt::format("{} {}", bare(c->difference.value, digits),
                     range(c->difference, digits));
}

// Two groups: both rates with intervals, their differences below.
std::string two_groups(const GroupReport& g, const std::string& title) {
  std::string out = title + "\n";
  int other = -1;
  for (std::size_t k = 0; k < g.groups.size(); ++k) {
    const Group& group = g.groups[k];
    if (!group.compared) continue;
    if (static_cast<int>(k) != g.reference) other = static_cast<int>(k);
    out += fmt::format(
        "  {:<14}{:>7}  {:<5}{:<14}  {:>5} {:<14} {:>5}\n", clip(group.value, 14),
        count(group.rows), percent(group.selection_rate.value),
        percent_range(group.selection_rate), percent(group.tpr.value),
        group.labels_masked ? "" : fmt::format("({})", count(group.positives)),
        percent(group.fpr.value));
  }
  out += fmt::format("  {:<18} {:<20} {:<20} {}\n", "difference",
                     difference(against(g, "demographic_parity", other)),
                     difference(against(g, "equal_opportunity", other)),
                     difference(against(g, "equalized_odds", other, "fpr"), 2));
  out += fmt::format("  {:<18} {} {}\n", "ratio", bare(g.selection_ratio.value),
                     range(g.selection_ratio));
  return out + too_few(g);
}

std::string widest(const GroupReport& g) {
  const GroupMeasure* parity = g.find("demographic_parity");
  if (parity == nullptr || !parity->widest.difference.defined()) return "";
  const Comparison& w = parity->widest;
  const bool turned = w.difference.value < 0;
  const Interval d = turned ? -w.difference : w.difference;
  const Group& high = g.groups[static_cast<std::size_t>(turned ? w.second : w.first)];
  const Group& low = g.groups[static_cast<std::size_t>(turned ? w.first : w.second)];
  return fmt::format("  {:<16}{} {} {}\n", "widest", bare(d.value), range(d),
                     wrap(fmt::format("{} {} %, {} {} %, of {} {}", high.value,
                                      percent(high.selection_rate.value), low.value,
                                      percent(low.selection_rate.value), parity->pairs,
                                      parity->pairs == 1 ? "pair" : "pairs"),
                          38, 18));
}

std::string many_groups(const GroupReport& g, const std::string& title,
                        const std::string& word) {
  const GroupMeasure* parity = g.find("demographic_parity");
  const std::size_t comparisons = parity == nullptr ? 0 : parity->comparisons.size();
  std::string out =
      fmt::format("{}, against {}; intervals adjusted for {} comparisons\n", title,
                  g.groups[static_cast<std::size_t>(g.reference)].value, comparisons);
  out += fmt::format(
      "                   rows  {:>5}  difference            TPR % difference\n",
      word + " %");
  for (std::size_t k = 0; k < g.groups.size(); ++k) {
    const Group& group = g.groups[k];
    if (!group.compared) continue;
    const bool reference = static_cast<int>(k) == g.reference;
    out += fmt::format(
        "  {:<14}{:>7}  {:>5}  {:<20}  {:>5} {}\n", clip(group.value, 14),
        count(group.rows), percent(group.selection_rate.value),
        reference ? "" : difference(against(g, "demographic_parity", static_cast<int>(k))),
        percent(group.tpr.value),
        reference ? "" : difference(against(g, "equal_opportunity", static_cast<int>(k))));
  }
  return out + too_few(g) + widest(g);
}

std::string groups_part(const AuditReport& r) {
  std::string out =
      fmt::format("\nGROUPS             rows  {:<19} TPR % (positives)      FPR %\n",
                  text::favourable_word(r.task) + " %");
  for (const AttributeAudit& a : r.attributes) {
    const GroupReport& g = a.groups;
    const auto large = std::count_if(g.groups.begin(), g.groups.end(),
                                     [](const Group& group) { return group.compared; });
    const GroupMeasure* parity = g.find("demographic_parity");
    if (parity != nullptr && !parity->reason.empty()) {
      out += fmt::format("{}\n  not compared: {}\n", a.name, parity->reason) + too_few(g) +
             cuts_line(a);
    } else if (large == 2) {
      out += two_groups(g, a.name) + cuts_line(a);
    } else {
      out += many_groups(g, a.name, text::favourable_word(r.task)) + cuts_line(a);
    }
  }
  for (const GroupReport& g : r.intersections) {
    const auto large = std::count_if(g.groups.begin(), g.groups.end(),
                                     [](const Group& group) { return group.compared; });
    out +=
        fmt::format("{}, {} cells with >= {} rows\n", g.attribute, large, r.task.min_group);
    out += widest(g);
  }
  return out;
}

std::string limits_part(const AuditReport& r) {
  Index unjudged = 0, groups = 0;
  bool hidden = false;
  for (const AttributeAudit& a : r.attributes)
    for (const Group& g : a.groups.groups)
      if (!g.compared) {
        unjudged += g.rows;
        hidden = hidden || g.masked;
        ++groups;
      }
  const std::string rows = hidden ? "" : fmt::format(" ({} rows)", count(unjudged));
  const std::string note = groups == 0 ? ""
                                       : fmt::format("{} {}{} {} not judged. ", groups,
                                                     groups == 1 ? "group" : "groups", rows,
                                                     groups == 1 ? "was" : "were");
  if (r.limits.empty()) {
    return fmt::format("\n{}verdict: none. No limit was set: nothing was judged.\n",
                       note.empty() ? "" : "note     " + note + "\n");
  }
  std::string out = "\nLIMITS (the whole interval must lie on one side)\n";
  for (const LimitResult& limit : r.limits) {
    std::string name = limit_words(limit);
    if (limit.lines.empty())
      out += fmt::format("  {:<30} {:<34} {}\n", name, reason_words(limit.reason),
                         shout(limit.verdict));
    // When one line does not pass, the lines that pass are left out.
    for (const LimitLine& line : limit.lines) {
      if (limit.lines.size() > 1 && line.verdict == Verdict::pass &&
          limit.verdict != Verdict::pass)
        continue;
      out += fmt::format("  {:<30} {:>6} {:<14} {:<12} {}\n", clip(name, 30),
                         gap(line.interval.value), range(line.interval),
                         clip(line.about, 12), shout(line.verdict));
      name.clear();
    }
  }
  out += fmt::format("note     {}No limit was set for the rest.\n", note);
  const int code = r.verdict == Verdict::fail ? 1 : r.verdict == Verdict::unclear ? 3 : 0;
  return out + fmt::format("verdict: {} (exit {})\n", verdict_words(r), code);
}

// What is masked, where something is.
std::string mask_note(const AuditReport& r) {
  for (const AttributeAudit& a : r.attributes)
    if (const std::string words = text::mask_words(a.groups); !words.empty())
      return "note   " + words + "\n";
  return "";
}

}  // namespace

const AttributeAudit* AuditReport::find(const std::string& attribute) const {
  for (const AttributeAudit& audit : attributes)
    if (audit.name == attribute) return &audit;
  return nullptr;
}

std::string audit_table(const AuditReport& full, const std::string& attribute) {
  const AuditReport report = masked(full);
  const AttributeAudit* audit = report.find(attribute);
  if (audit == nullptr || !audit->flip) {
    throw Error(ErrorKind::bad_option,
                fmt::format("audit table: there is no flip test of {}", attribute),
                "name an attribute that was audited and that the model reads");
  }
  const FlipReport& flip = *audit->flip;
  std::string rates;
  for (const Group& group : audit->groups.groups)
    rates += fmt::format("{}{} {} %", rates.empty() ? "" : ", ", group.value,
                         percent(group.selection_rate.value));
  const auto line = [](const std::string& name, const std::string& value,
                       const std::string& low, const std::string& high) {
    return fmt::format("  {:<41} {:>7}    {:>5} .. {}\n", name, value, low, high);
  };
  std::string out =
      fmt::format("{:45}{:>5}    {:g} % interval\n", "", "value", 100 * report.confidence);
  out += line("accuracy", percent(report.accuracy.value) + " %",
              percent(report.accuracy.low), percent(report.accuracy.high));
  out += line("flip gap, mean |change of p|", fixed(flip.co.value, 3),
              fixed(flip.co.low, 3), fixed(flip.co.high, 3));
  out += line("answers that change", percent(flip.flip_rate.value) + " %",
              percent(flip.flip_rate.low), percent(flip.flip_rate.high));
  out += fmt::format("  answered yes: {}\n", rates);
  const GroupMeasure* parity = audit->groups.find("demographic_parity");
  if (parity == nullptr || parity->comparisons.empty()) return out;
  const Interval& difference = parity->comparisons[0].difference;
  return out + line("  difference", fixed(difference.value, 3), fixed(difference.low, 3),
                    fixed(difference.high, 3));
}

std::string screen(const AuditReport& full) {
  const AuditReport report = masked(full);
  return top(report) + flip_part(report) + match_part(report) + groups_part(report) +
         mask_note(report) + measures_part(report) + changes_part(report) +
         limits_part(report);
}

}  // namespace fmd
