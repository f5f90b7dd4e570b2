#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "fmd/report/compare_report.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::clip;
using text::count;
using text::gap;
using text::percent;
using text::wrap;

std::string heading(const CompareReport& r) {
  std::string out = fmt::format("data   {}\n", r.data);
  out += fmt::format("model  {}{}; favourable: {}\n",
                     r.model.empty() ? "logistic regression, trained here" : r.model,
                     r.reads ? fmt::format(", reads {}", r.attribute)
                             : fmt::format(", does not read {}", r.attribute),
                     r.task.favorable.empty() ? "none named" : r.task.favorable);
  std::string parts;
  for (const ComparePart& part : r.parts)
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count(part.rows), part.name);
  out += fmt::format("rows   {}\n", text::wrap(parts + "; no row is used twice", 7, 7));
  out += fmt::format("rule   {}, chosen on the hold-out\n", r.rule);
  out += fmt::format(
      "figures from the test rows, which nothing was chosen on; {:g} % "
      "intervals\n\n",
      100 * r.confidence);
  return out;
}

std::string short_range(const Interval& i, bool in_percent) {
  if (std::isnan(i.low) || std::isnan(i.high)) return "";
  if (in_percent) return fmt::format("{} {}", percent(i.low), percent(i.high));
  return fmt::format("{} {}", bare(i.low), bare(i.high));
}

// Two lines a method: figures, and their intervals.
std::string figures_of(const ComparedMethod& m) {
  const CompareFigures& f = m.test;
  std::string out = fmt::format(
      "{:<19}{:>11}{:>13}{:>12}{:>12}{:>12}\n",
      clip(m.name, 18) + (m.within_budget ? "" : " !"), percent(f.accuracy.value),
      gap(f.co.value), bare(f.demographic_parity.value), bare(f.equal_opportunity.value),
      percent(f.worst_group.value));
  out += fmt::format(
      "{:<19}{:>11}{:>13}{:>12}{:>12}{:>12}\n", "", short_range(f.accuracy, true),
      short_range(f.co, false), short_range(f.demographic_parity, false),
      short_range(f.equal_opportunity, false), short_range(f.worst_group, true));
  return out;
}

std::string seconds(double s) {
  if (s < 0.0005) return "<.001";
  return s < 10 ? bare(s, 3) : fmt::format("{:.1f}", s);
}

std::string how_of(const ComparedMethod& m) {
  const CompareFigures& f = m.test;
  const std::string change =
      m.name == "vanilla" ? "" : fmt::format("{:+.1f}", 100 * f.accuracy_change.value);
  std::string out = fmt::format(
      "{:<19}{:>7}{:>9}{:>9}  {}\n", clip(m.name, 18), change, percent(f.flip_rate.value),
      m.kind == "outside" ? "-" : seconds(m.cpu_seconds), m.needs);
  if (!m.setting.empty()) out += std::string(30, ' ') + wrap(m.setting, 30, 30) + "\n";
  return out;
}

std::string notes(const CompareReport& r) {
  std::string out;
  bool over = false, decisions = false;
  for (const ComparedMethod& m : r.methods) {
    over = over || !m.within_budget;
    decisions = decisions || (m.reason.empty() && m.decisions_only);
  }
  const auto note = [&](const std::string& words) {
    out += "note   " + wrap(words, 7, 7) + "\n";
  };
  if (over)
    note("! no setting keeps to the rule on the hold-out: the most accurate one is shown.");
  if (decisions)
    note(
        "Methods that give decisions alone have the flip gap of these: a changed decision "
        "counts 1.");
  if (r.optimistic) note("Rows of DATA were used in training: figures are optimistic.");
  for (const ComparedMethod& m : r.methods)
    if (!m.reason.empty()) note(fmt::format("{} was left out: {}.", m.name, m.reason));
  note(
      "Lots: figures are expected ones. CPU s: to fit all settings. A method that needs "
      "the "
      "attribute treats two equal persons of two groups differently by design.");
  return out;
}

}  // namespace

std::string screen(const CompareReport& r) {
  std::string out = heading(r);
  const std::string yes = text::favourable_word(r.task);
  out += fmt::format("{:<19}{:>11}{:>13}{:>12}{:>12}{:>12}\n", "", "accuracy", "flip gap",
                     yes + ",", "TPR,", "worst");
  out += fmt::format("{:<19}{:>11}{:>13}{:>12}{:>12}{:>12}\n", "method", "%",
                     clip(r.attribute, 12), "difference", "difference", "group %");
  for (const ComparedMethod& m : r.methods)
    if (m.reason.empty()) out += figures_of(m);
  out += fmt::format("\n{:<19}{:>7}{:>9}{:>9}  {}\n", "", "acc.", "answers", "CPU s",
                     "needs when it answers");
  out += fmt::format("{:<19}{:>7}{:>9}{:>9}  {}\n", "method", "change", "change %",
                     "to fit", "setting that was chosen");
  for (const ComparedMethod& m : r.methods)
    if (m.reason.empty()) out += how_of(m);
  return out + "\n" + notes(r);
}

}  // namespace fmd
