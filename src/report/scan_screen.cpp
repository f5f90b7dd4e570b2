#include <algorithm>

#include <fmt/format.h>

#include "fmd/report/scan_report.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::bare;
using text::clip;
using text::count;
using text::fixed;
using text::gap;
using text::percent;
using text::range;
using text::wrap;

std::string rate_word(const ScanReport& r, const std::string& rate) {
  if (rate == "selection_rate") return text::favourable_word(r.task);
  return rate == "tpr" ? "TPR" : "FPR";
}

std::string chance(double p) {
  if (p < 1e-99) return "<1e-99";
  return p < 0.001 ? fmt::format("{:.0e}", p) : bare(p);
}

// What the p-values and intervals promise.
std::string adjust_words(const ScanReport& r) {
  const std::string tests = count(r.tests), level = fmt::format("{:g}", 100 * r.confidence);
  const std::string wrong = fmt::format("{:g}", 100 * (1 - r.confidence));
  if (r.adjust == Adjust::holm)
    return fmt::format(
        "adjusted for all {} by Holm (the chance of any false finding is below {} %); "
        "intervals of {} % hold together",
        tests, wrong, level);
  if (r.adjust == Adjust::bh)
    return fmt::format(
        "adjusted for all {} by Benjamini-Hochberg (of the findings, {} % are expected to "
        "be "
        "false at most); of the findings' intervals {} % are expected to hold",
        tests, wrong, level);
  return fmt::format(
      "not adjusted: of {} comparisons without a difference {} % are expected to be "
      "findings; "
      "each interval of {} % stands alone",
      tests, wrong, level);
}

std::string top(const ScanReport& r) {
  std::string out;
  if (r.model.empty()) {
    out += "scores " + wrap(fmt::format("{}, {} rows", r.data, count(r.rows)), 7, 7) + "\n";
  } else {
    out += "model  " + wrap(fmt::format("{} ({})", r.model, r.kind), 7, 7) + "\n";
    out += "data   " + wrap(fmt::format("{}, {} rows", r.data, count(r.rows)), 7, 7) + "\n";
  }
  const int favorable = r.task.favorable_class();
  out += "yes    " +
         wrap("the answer " + r.task.classes[static_cast<std::size_t>(favorable)], 7, 7) +
         "\n";
  out += "scan   " +
         wrap(fmt::format(
                  "{} columns and {} intersections of two: {} comparisons of a group with "
                  "the largest one of its column or intersection. p-values by Fisher's "
                  "exact test, {}. Groups under {} rows are not compared.",
                  r.columns.size(), r.intersections.size(), count(r.tests), adjust_words(r),
                  r.task.min_group),
              7, 7) +
         "\n";
  if (!r.labelled) out += "       No labels: only how often the answer is yes.\n";
  if (!r.left_out.empty()) {
    std::string names;
    for (const auto& [column, reason] : r.left_out)
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", column, reason);
    out += "left out: " + wrap(names, 10, 10) + "\n";
  }
  return out;
}

std::string flips(const ScanReport& r) {
  std::vector<const ScanSuspect*> list;
  for (const ScanSuspect& s : r.columns)
    if (s.flip) list.push_back(&s);
  if (list.empty()) return "";
  std::stable_sort(list.begin(), list.end(), [](const auto* a, const auto* b) {
    return a->flip->change.value > b->flip->change.value;
  });
  std::string out =
      "\nBY FLIP  the column alone is changed        mean |change of p|  answers change\n";
  Index lines = 0;
  for (const ScanSuspect* s : list) {
    if (lines++ == r.top) break;
    const ScanFlip& flip = *s->flip;
    const bool slope = flip.kind == "slope";
    const std::string what =
        slope              ? fmt::format("slope per deviation ({:.4g})", flip.deviation)
        : flip.values == 2 ? "to the other value"
                           : fmt::format("to each of {} other values", flip.values - 1);
    out += fmt::format("  {:<14} {:<27} {:>5} {}", clip(s->name, 14), clip(what, 27),
                       gap(flip.change.value), range(flip.change));
    if (!slope)
      out += fmt::format("{:>{}}", percent(flip.flip_rate) + " %",
                         26 - range(flip.change).size());
    out += "\n";
  }
  return out;
}

std::string figures(const ScanReport& r, const ScanGap& g) {
  return fmt::format("{:>7} {:>5} {:<3} {:<20} {:>6}", count(g.rows), percent(g.group_rate),
                     rate_word(r, g.rate),
                     fmt::format("{} {}", bare(g.difference.value), range(g.difference)),
                     chance(g.adjusted));
}

std::string columns(const ScanReport& r) {
  std::string out =
      "\nBY GROUP  widest of each column    rows     %     difference           "
      "     p\n";
  Index lines = 0, without = 0;
  for (const ScanSuspect& s : r.columns) {
    const ScanGap* g = s.widest();
    if (g == nullptr) ++without;
    if (g == nullptr || lines++ >= r.top) continue;
    out += fmt::format("  {:<13} {:<15}{}\n", clip(s.name, 13), clip(g->group, 15),
                       figures(r, *g));
  }
  if (lines == 0) out += "  no finding\n";
  if (lines > r.top) out += fmt::format("  {} more: --top {}\n", lines - r.top, lines);
  if (without > 0 && lines > 0)
    out += fmt::format("  no finding in {} of {} columns\n", without, r.columns.size());
  return out;
}

std::string crosses(const ScanReport& r) {
  if (r.intersections.empty()) return "";
  std::string out =
      "\nTWO AT A TIME  widest of each      rows     %     difference           "
      "     p\n";
  Index lines = 0;
  for (const ScanSuspect& s : r.intersections) {
    const ScanGap* g = s.widest();
    if (g == nullptr || lines++ >= r.top) continue;
    out += fmt::format("  {}: {}\n", clip(s.name, 30), clip(g->group, 44));
    out += fmt::format(
        "  {:<28}{}\n",
        s.beyond > 0 ? fmt::format("  {} beyond one alone", bare(s.beyond)) : "",
        figures(r, *g));
  }
  if (lines == 0) out += "  no finding\n";
  if (lines > r.top) out += fmt::format("  {} more: --top {}\n", lines - r.top, lines);
  return out;
}

}  // namespace

std::string screen(const ScanReport& report) {
  return top(report) + flips(report) + columns(report) + crosses(report) +
         "\nA difference is not a wrong: columns that go with the label differ too, and "
         "many\n"
         "tell the same thing. Look closer: fmd audit ... --attribute COLUMN\n";
}

}  // namespace fmd
