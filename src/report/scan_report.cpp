#include "fmd/report/scan_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/version.h"
#include "report/json.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd {
namespace {

Json gap_json(const ScanGap& gap) {
  Json json = {{"rate", gap.rate},
               {"group", gap.group},
               {"reference", gap.reference},
               {"rows", gap.rows},
               {"reference_rows", gap.reference_rows},
               {"group_rate", number(gap.group_rate)},
               {"reference_rate", number(gap.reference_rate)},
               {"difference", interval_json(gap.difference)},
               {"p_value", number(gap.p_value)},
               {"adjusted_p_value", number(gap.adjusted)},
               {"finding", gap.finding}};
  return json;
}

Json flip_json(const ScanSuspect& suspect) {
  if (!suspect.flip) {
    const char* reason = suspect.reads == Reads::no        ? "not_an_input"
                         : suspect.reads == Reads::unknown ? "only scores were given"
                                                           : "ranges_of_a_number";
    return {{"value", nullptr}, {"reason", reason}};
  }
  const ScanFlip& flip = *suspect.flip;
  Json json = {{"kind", flip.kind}, {"rows", flip.rows}};
  json.update(interval_json(flip.change));
  if (flip.kind == "flip") json["flip_rate"] = number(flip.flip_rate);
  if (flip.kind == "slope") json["deviation"] = number(flip.deviation);
  return json;
}

Json suspect_json(const ScanSuspect& suspect, bool column) {
  Json json = {{"name", suspect.name}, {"columns", suspect.columns}};
  if (column) {
    if (!suspect.cuts.empty()) json["cuts"] = suspect.cuts;
    json["reads"] =
        suspect.reads == Reads::unknown ? Json(nullptr) : Json(suspect.reads == Reads::yes);
    json["flip"] = flip_json(suspect);
  } else {
    json["beyond_its_columns"] = number(suspect.beyond);
  }
  json["groups"] = suspect.groups;
  json["compared"] = suspect.compared;
  json["comparisons"] = suspect.tests;
  json["findings"] = suspect.findings;
  json["worst"] = Json::array();
  for (const ScanGap& gap : suspect.worst) json["worst"].push_back(gap_json(gap));
  return json;
}

}  // namespace

const ScanGap* ScanSuspect::widest() const {
  const ScanGap* result = nullptr;
  for (const ScanGap& gap : worst)
    if (gap.finding && (result == nullptr || std::abs(gap.difference.value) >
                                                 std::abs(result->difference.value)))
      result = &gap;
  return result;
}

std::string to_json(const ScanReport& report) {
  Json json;
  json["schema"] = 1;
  json["command"] = "scan";
  json["version"] = kVersion;
  json["model"] = model_json(report.model, report.kind, report.model_sha256);
  json["data"] = data_json(report.data, report.data_sha256, report.rows);
  if (!report.notes.empty()) json["notes"] = report.notes;
  json["task"] = Json::parse(to_json(report.task));
  json["confidence"] = report.confidence;
  json["comparisons"] = report.tests;
  json["adjust"] = report.adjust == Adjust::holm ? "holm"
                   : report.adjust == Adjust::bh ? "bh"
                                                 : "none";
  json["test"] =
      report.adjust == Adjust::holm
          ? "Fisher's exact test, adjusted by Holm over all comparisons"
      : report.adjust == Adjust::bh
          ? "Fisher's exact test, adjusted by Benjamini-Hochberg over all comparisons"
          : "Fisher's exact test, not adjusted";
  if (!report.labelled) json["reason"] = "no labels: selection rates alone were compared";
  json["columns"] = Json::array();
  for (const ScanSuspect& s : report.columns)
    json["columns"].push_back(suspect_json(s, true));
  json["intersections"] = Json::array();
  for (const ScanSuspect& s : report.intersections)
    json["intersections"].push_back(suspect_json(s, false));
  json["left_out"] = Json::array();
  for (const auto& [column, reason] : report.left_out)
    json["left_out"].push_back({{"column", column}, {"reason", reason}});
  json["proxies"] = Json::parse(to_json(report.proxies));
  return json_lines(json);
}

namespace {

using text::bare;
using text::clip;
using text::count;
using text::gap;
using text::percent;
using text::range;

std::string rate_word(const ScanReport& r, const std::string& rate) {
  if (rate == "selection_rate") return text::favourable_word(r.task);
  return rate == "tpr" ? "TPR" : "FPR";
}

std::string p_value_text(double p) {
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
        "be false at most); of the findings' intervals {} % are expected to hold",
        tests, wrong, level);
  return fmt::format(
      "not adjusted: of {} comparisons without a difference {} % are expected to be "
      "findings; each interval of {} % stands alone",
      tests, wrong, level);
}

void add_top(const ScanReport& r, SheetSection& s) {
  const std::string data = fmt::format("{}, {} rows", r.data, count(r.rows));
  if (!r.model.empty()) line(s, "model  ", "{} ({})", r.model, r.kind);
  s.line(r.model.empty() ? "scores " : "data   ", data);
  s.line("yes    ", "the answer " + r.task.classes[at(r.task.favorable_class())]);
  line(s, "scan   ",
       "{} columns and {} intersections of two: {} comparisons of a group "
       "with the largest one of its column or intersection. p-values by "
       "Fisher's exact test, {}. Groups under {} rows are not compared.",
       r.columns.size(), r.intersections.size(), count(r.tests), adjust_words(r),
       r.task.min_group);
  if (!r.labelled) s.line("       ", "No labels: only how often the answer is yes.");
  std::string names;
  for (const auto& [column, reason] : r.left_out)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", column, reason);
  if (!names.empty()) s.line("left out: ", names);
}

void add_flips(const ScanReport& r, Sheet& sheet) {
  static const SheetColumns columns = sheet_columns(
      "  {column:14.} {change:27.} {gap:>5} {interval:16}{answers change:>10}");
  std::vector<const ScanSuspect*> list;
  for (const ScanSuspect& s : r.columns)
    if (s.flip) list.push_back(&s);
  std::stable_sort(list.begin(), list.end(), [](const auto* a, const auto* b) {
    return a->flip->change.value > b->flip->change.value;
  });
  SheetSection& section = sheet.add("BY FLIP ", "the column alone is changed",
                                    "             flip gap (co)  answers change");
  for (std::size_t i = 0; i < std::min(list.size(), at(r.top)); ++i) {
    const ScanFlip& flip = *list[i]->flip;
    const bool slope = flip.kind == "slope";
    section.row(
        columns,
        {list[i]->name,
         slope              ? fmt::format("slope per deviation ({:.4g})", flip.deviation)
         : flip.values == 2 ? "to the other value"
                            : fmt::format("to each of {} other values", flip.values - 1),
         {gap(flip.change.value), flip.change},
         range(flip.change),
         slope ? "" : percent(flip.flip_rate) + " %"});
  }
}

constexpr const char* kFigures = "{rows:>7} {%:>5} {:3} {difference:20} {p:>6}";

// The cells of figures. `below`: they stand in the second line of the row.
void add_figures(const ScanReport& r, const ScanGap& g, bool below,
                 std::vector<SheetCell>& cells) {
  std::vector<SheetCell> figures = {
      count(g.rows),
      percent(g.group_rate),
      rate_word(r, g.rate),
      {bare(g.difference.value) + " " + range(g.difference), g.difference},
      p_value_text(g.adjusted)};
  for (SheetCell& cell : figures) {
    if (below) std::swap(cell.text, cell.below);
    cells.push_back(std::move(cell));
  }
}

void add_more(Index lines, Index top, SheetSection& s) {
  if (lines == 0) s.line("  ", "no finding");
  if (lines > top) line(s, "  ", "{} more: --top {}", lines - top, lines);
}

void add_columns(const ScanReport& r, Sheet& sheet) {
  static const SheetColumns columns =
      sheet_columns(std::string("  {column:13.} {group:15.}") + kFigures);
  SheetSection& section = sheet.add("BY GROUP ", "widest of each column",
                                    "    rows     %     difference                p");
  Index lines = 0, without = 0;
  for (const ScanSuspect& s : r.columns) {
    const ScanGap* g = s.widest();
    if (g == nullptr) ++without;
    if (g == nullptr || lines++ >= r.top) continue;
    std::vector<SheetCell> cells = {s.name, g->group};
    add_figures(r, *g, false, cells);
    section.row(columns, std::move(cells));
  }
  add_more(lines, r.top, section);
  if (without > 0 && lines > 0)
    line(section, "  ", "no finding in {} of {} columns", without, r.columns.size());
}

void add_crosses(const ScanReport& r, Sheet& sheet) {
  static const SheetColumns columns =
      sheet_columns(std::string("  {columns: groups:28}") + kFigures);
  if (r.intersections.empty()) return;
  SheetSection& section = sheet.add("TWO AT A TIME ", "widest of each",
                                    "      rows     %     difference                p");
  Index lines = 0;
  for (const ScanSuspect& s : r.intersections) {
    const ScanGap* g = s.widest();
    if (g == nullptr || lines++ >= r.top) continue;
    std::vector<SheetCell> cells = {clip(s.name, 30) + ": " + clip(g->group, 44)};
    if (s.beyond > 0) cells[0].below = fmt::format("  {} beyond one alone", bare(s.beyond));
    add_figures(r, *g, true, cells);
    section.row(columns, std::move(cells));
  }
  add_more(lines, r.top, section);
}

}  // namespace

Sheet sheet_of(const ScanReport& report) {
  Sheet sheet;
  sheet.command = "scan";
  sheet.data = report.data;
  add_top(report, sheet.add());
  add_flips(report, sheet);
  add_columns(report, sheet);
  add_crosses(report, sheet);
  if (text::rates_mislead(report.task)) sheet.add().line("", text::kRateWords);
  if (!report.proxies.empty()) {
    SheetSection& section = sheet.add(
        "PROXIES ", "how well the other columns tell an attribute: AUC, 0.5 is chance");
    for (const ProxyReport& proxy : report.proxies) section.line("  ", words(proxy));
  }
  SheetSection& end = sheet.add();
  end.blank();
  end.line("",
           "A difference is not a wrong: columns that go with the label differ too, and "
           "many tell the same thing. Look closer: fmd audit ... --attribute COLUMN");
  return sheet;
}

}  // namespace fmd
