#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fmd/report/debias_report.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::clip;
using text::count;
using text::fixed;
using text::gap;
using text::percent;
using text::wrap;

const Contender* find(const std::vector<Contender>& all, const std::string& name) {
  for (const Contender& c : all)
    if (c.name == name) return &c;
  return nullptr;
}

const AttributeAudit* attribute(const Contender& c, const std::string& name) {
  return c.audit ? c.audit->find(name) : nullptr;
}

std::string flip_gap(const Contender& c, const std::string& name) {
  const AttributeAudit* a = attribute(c, name);
  if (a == nullptr) return "-";
  if (!a->flip) return "not read";
  return gap((a->flip->co.defined() ? a->flip->co : a->flip->co_tv).value);
}

// The reference against the largest other group: the pair of values that screens show.
std::pair<int, int> shown_values(const AttributeAudit& a) {
  const int from = std::max(0, a.groups.reference);
  return {from, from == 0 ? 1 : 0};
}

std::string pair_gap(const Contender& c, const std::string& name) {
  const AttributeAudit* a = attribute(c, name);
  if (a == nullptr) return "-";
  if (!a->flip) return "not read";
  const auto [from, to] = shown_values(*a);
  for (const FlipCell& cell : a->flip->cells)
    if (cell.from == from && cell.to == to) return gap(cell.co.value);
  return "-";
}

const Comparison* shown_difference(const AttributeAudit& a, const char* measure) {
  const GroupMeasure* m = a.groups.find(measure);
  if (m == nullptr || m->comparisons.empty()) return nullptr;
  const int second = shown_values(a).second;
  for (const Comparison& c : m->comparisons)
    if (c.second == second) return &c;
  return &m->comparisons[0];
}

std::string group_difference(const Contender& c, const std::string& name,
                             const char* measure) {
  const AttributeAudit* a = attribute(c, name);
  const Comparison* d = a == nullptr ? nullptr : shown_difference(*a, measure);
  return d == nullptr ? "-" : fixed(d->difference.value, 3);
}

bool worse(const DebiasReport& r, const std::string& attribute,
           const std::string& measure) {
  for (const MeasureMove& m : r.moved.measures)
    if (m.attribute == attribute && m.measure == measure && m.worse) return true;
  return false;
}

using Figure = std::function<std::string(const Contender&)>;

std::string row(const DebiasReport& r, const std::string& title, const Figure& figure,
                bool mark) {
  if (figure(r.figures()[0]) == "-")
    return "";  // nothing was measured, e.g. no favourable class
  std::string out = fmt::format("  {:<17}", clip(title, 17));
  for (const Contender& c : r.figures()) {
    std::string cell = c.audit ? figure(c) : "n/a";
    if (c.name == "repaired") {
      out += fmt::format(" {:>8}{} |", cell, mark ? " !" : "  ");
    } else {
      out += fmt::format("{:>{}}", cell, c.name == "before" ? 8 : 10);
    }
  }
  return out + "\n";
}

// The two lines above a control's figures.
std::pair<std::string, std::string> control_words(const Contender& control,
                                                  const DebiasReport& r) {
  const std::string without = r.repaired.size() == 1 ? clip(r.repaired[0], 9) : "them";
  if (control.name == "column_averaged") return {"column", "averaged"};
  if (control.name == "retrained_without_column")
    return {"retrained", "w/o " + clip(without, 5)};
  if (control.name == "fine_tuned") return {"tuned on", "the pairs"};
  if (control.name == "tempered") return {"tempered", "by NLL"};
  return {"intercept", "shifted"};
}

std::string header(const DebiasReport& r) {
  std::string first = fmt::format("  {:<17}{:>8} {:>8}   |", "", "before", "repaired");
  std::string second = fmt::format("  {:<17}{:>8} {:>8}   |", "", "", "");
  for (const Contender& c : r.figures()) {
    if (c.name == "before" || c.name == "repaired") continue;
    const auto [above, below] = control_words(c, r);
    first += fmt::format("{:>10}", above);
    second += fmt::format("{:>10}", below);
  }
  return fmt::format("  {:<17}{:>8} {:>8}   | trivial controls\n", "", "", "") + first +
         "\n" + second + "\n";
}

std::string moved_lines(const DebiasReport& r) {
  const Contender& before = r.figures()[0];
  std::string out;
  for (const Contender& c : r.figures())
    if (!c.audit) out += fmt::format("  n/a ({}): {}\n", c.title, c.reason);
  out += fmt::format("  accuracy, paired: {:+.1f} points ({:+.1f} .. {:+.1f})\n",
                     100 * r.accuracy_change.value, 100 * r.accuracy_change.low,
                     100 * r.accuracy_change.high);
  std::string groups;
  for (const GroupMove& g : r.moved.groups) {
    if (std::find(r.repaired.begin(), r.repaired.end(), g.attribute) == r.repaired.end())
      continue;
    if (g.gained == 0 && g.lost == 0) continue;
    groups += fmt::format("{}{} +{} -{}", groups.empty() ? "" : ", ", g.group,
                          count(g.gained), count(g.lost));
  }
  if (!groups.empty()) {
    const std::string lead =
        fmt::format("  changed answers of {}: ", count(before.audit->rows));
    out += lead + wrap(groups, lead.size(), 4) + "\n";
  }
  return out;
}

// Matched pairs: what is above the floor.
std::string match_excess(const Contender& c, const std::string& name) {
  const AttributeAudit* a = attribute(c, name);
  if (a == nullptr || !a->match) return "-";
  return gap(a->match->excess.value);
}

// Which candidate it is, and how well it was computed.
std::string how(const DebiasReport& r, const Candidate& point) {
  if (!std::isnan(point.gamma)) {
    return fmt::format("gamma {:g} on the soft odds gaps, mu {:g}; {} (gradient {:.0e})",
                       point.gamma, point.mu, r.solve_status, r.solve.residual);
  }
  if (r.hessian_source == "none" && std::isfinite(point.lambda)) {  // a network's layers
    return fmt::format("lambda {:.4g}, {}; {} (gradient {:.0e})", point.lambda,
                       r.solve.solver, r.solve_status, r.solve.residual);
  }
  if (std::isnan(point.s)) {
    return fmt::format(
        "lambda {:.4g}, {} (gradient {:.0e}); Hessian: {} rows, damping {:.2g}",
        point.lambda, r.solve_status, r.solve.residual, r.hessian_source, r.solve.damping);
  }
  std::string words = fmt::format("s {:.4g}", point.s);
  if (point.K > 0) words += fmt::format(", {} training rows", count(point.K));
  words += fmt::format("; {} (residual {:.0e}); Hessian: {}, damping {:.2g}",
                       r.solve.solver, r.solve.residual, r.hessian_source, r.solve.damping);
  if (r.relative_gradient > 1e-3)
    words += "; indicative: the head is not at an optimum of its training objective";
  return wrap(words, 0, 0);
}

}  // namespace

std::string repair_table(const DebiasReport& r) {
  std::string out = header(r);
  out += row(
      r, "accuracy",
      [](const Contender& c) { return percent(c.audit->accuracy.value) + " %"; }, false);
  for (const std::string& name : r.repaired)
    out += row(
        r, "flip gap, " + name, [&](const Contender& c) { return flip_gap(c, name); },
        false);
  const Contender& before = r.figures()[0];
  for (const AttributeAudit& a : before.audit->attributes)
    out += row(
        r, "excess, " + a.name, [&](const Contender& c) { return match_excess(c, a.name); },
        false);
  for (const AttributeAudit& a : before.audit->attributes) {
    if (std::find(r.repaired.begin(), r.repaired.end(), a.name) != r.repaired.end() ||
        !a.flip)
      continue;
    const auto [from, to] = shown_values(a);
    const std::string title = a.values.size() == 2
                                  ? "flip gap, " + a.name
                                  : a.values[static_cast<std::size_t>(from)] + " -> " +
                                        a.values[static_cast<std::size_t>(to)];
    out += row(
        r, title, [&](const Contender& c) { return pair_gap(c, a.name); },
        worse(r, a.name, "co"));
  }
  for (const std::string& name : r.repaired) {
    const std::string suffix = r.repaired.size() == 1 ? "difference" : name;
    out += row(
        r, text::favourable_word(r.task) + ", " + suffix,
        [&](const Contender& c) { return group_difference(c, name, "demographic_parity"); },
        worse(r, name, "demographic_parity"));
    out += row(
        r, "TPR, " + suffix,
        [&](const Contender& c) { return group_difference(c, name, "equal_opportunity"); },
        worse(r, name, "equal_opportunity"));
  }
  out += row(
      r, "log loss", [](const Contender& c) { return fixed(c.audit->log_loss, 3); }, false);
  return out + moved_lines(r);
}

std::string caveats(const DebiasReport& r) {
  const Contender* after = find(r.figures(), "repaired");
  std::string words;
  for (const std::string& name : r.repaired) {
    const AttributeAudit* a = attribute(*after, name);
    const Comparison* d =
        a == nullptr ? nullptr : shown_difference(*a, "demographic_parity");
    if (d == nullptr) continue;
    const Interval i = d->difference.value < 0 ? -d->difference : d->difference;
    const auto& groups = a->groups.groups;
    const auto first =
        static_cast<std::size_t>(d->difference.value < 0 ? d->second : d->first);
    const auto second =
        static_cast<std::size_t>(d->difference.value < 0 ? d->first : d->second);
    if (i.low > 0)
      words += fmt::format(
          "{}: {} still gets the favourable answer more often than {}, by {} ({} .. {}): "
          "other columns carry it. ",
          name, groups[first].value, groups[second].value, fixed(i.value, 3),
          fixed(i.low, 3), fixed(i.high, 3));
  }
  for (const MeasureMove& m : r.moved.measures) {
    if (!m.worse || m.measure != "co" || !m.about.empty()) continue;
    words += fmt::format(
        "The flip gap of {} was not repaired and got worse, {} -> {}: --attribute {}. ",
        m.attribute, gap(m.before.value), gap(m.after.value), m.attribute);
  }
  words += r.measure == "equalized_odds_soft"
               ? "A matched pair is two persons, alike in what was compared: no claim on "
                 "causes or on law."
               : "The flip leaves the other columns as they are: no claim on causes or on "
                 "law.";
  if (r.optimistic)
    words += " Some of these rows were used in training: the figures are optimistic.";
  return "  " + wrap(words, 2, 2) + "\n";
}

std::string screen(const DebiasReport& r) {
  std::string out = fmt::format("model   {}    {}\n", r.model, r.method);
  for (const DataNote& note : r.data) {
    std::string words = note.name;
    if (note.rows > 0) words += fmt::format(", {} rows", count(note.rows));
    if (note.overlap >= 0) words += ", " + text::seen(note.overlap, note.by_chance);
    out += fmt::format("{:<7} {}\n", note.role == "edit and hold-out" ? "data" : note.role,
                       wrap(words, 8, 8));
  }
  out += fmt::format("rows    {} edit ({} pairs), {} hold-out\n", count(r.edit_rows),
                     count(r.pairs), count(r.holdout_rows));
  if (r.chosen < 0) {
    const std::string words = fmt::format(
        "NO CANDIDATE of {} meets the rule: {}. Nothing was written. "
        "--best-effort writes the least biased one.",
        r.points.size(), r.rule);
    return out + "\n" + wrap(words, 0, 0) + "\n";
  }
  const Candidate& point = r.points[static_cast<std::size_t>(r.chosen)];
  const std::string rule =
      fmt::format("{}, chosen on the {} hold-out rows", r.rule, count(r.holdout_rows));
  out += "\nREPAIR   " + wrap(rule, 9, 9) + "\n";
  out += r.test.empty() ? "         figures below: hold-out, used for the choice (give "
                          "--test for others)\n"
                        : fmt::format("         figures below from the {} others\n",
                                      count(r.test[0].audit->rows));
  out += repair_table(r);
  out += "\n" + how(r, point) + "\n";
  out += "\nWHAT THIS DOES NOT SAY\n" + caveats(r);
  return out;
}

}  // namespace fmd
