#include "fmd/report/lm_debias_report.h"

#include <cmath>

#include <fmt/format.h>

#include "fmd/version.h"
#include "report/json.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd {
namespace {

Json lm_figures_json(const LmFigures& f) {
  return {{"ss", interval_json(f.ss)},
          {"lms", interval_json(f.lms, "no item has an unrelated sentence")},
          {"icat", interval_json(f.icat, "no item has an unrelated sentence")}};
}

Json edit_json(const HeadEdit& e) {
  Json settings = Json::array();
  for (const HeadEditSetting& s : e.settings)
    settings.push_back({{"value", s.value},
                        {"s", s.s},
                        {"kl", number(s.kl)},
                        {"left_out_ss", number(s.score)}});
  return {{"value", e.value},
          {"s", e.s},
          {"kl", number(e.kl)},
          {"pairs", e.pairs},
          {"targets", e.groups},
          {"pairs_ss_before", number(e.score_before)},
          {"pairs_ss_left_out", number(e.score_predicted)},
          {"limited_by_kl", e.limited},
          {"settings", settings}};
}

std::string lm_cell(const Interval& f, int digits) {
  if (!f.defined()) return "-";
  if (std::isnan(f.low)) return fmt::format("{:.{}f}", f.value, digits);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", f.value, digits, f.low, digits, f.high,
                     digits);
}

// The change of |SS - 50|, in words that the interval allows.
std::string lm_verdict(const LmDebiasDomain& d) {
  const Interval& change = d.change.ss;
  if (!change.defined() || std::isnan(change.low)) return "undefined";
  if (change.low <= 0 && change.high >= 0) return "not enough evidence of a change";
  return std::abs(d.after.ss.value - 50) < std::abs(d.before.ss.value - 50)
             ? "nearer to 50"
             : "farther from 50";
}

std::string in_percent(double after, double before) {
  return fmt::format("{:+.1f} %", 100 * (after / before - 1));
}

void add_domains(const LmDebiasReport& r, Sheet& sheet) {
  static const SheetColumns columns =
      sheet_columns("  {:11.} {before:>18} {after:>18} {change:>21}");
  SheetSection& s =
      sheet.add("FIGURES", r.cross_fitted
                               ? "on targets that the edit was not made from (cross-fitted)"
                               : "measured on OUT after it was read back");
  s.table(columns);
  const auto row = [&](const std::string& name, const Interval& a, const Interval& b,
                       const Interval& c) {
    s.row(columns, {name, SheetCell(lm_cell(a, 1), a), SheetCell(lm_cell(b, 1), b),
                    SheetCell(lm_cell(c, 1), c)});
  };
  for (const LmDebiasDomain& d : r.domains) {
    s.line(fmt::format("{}  ", d.domain),
           fmt::format("{} items, {} targets: SS {}", text::count(d.items), d.terms,
                       lm_verdict(d)));
    row("SS", d.before.ss, d.after.ss, d.change.ss);
    if (d.before.lms.defined()) row("LMS", d.before.lms, d.after.lms, d.change.lms);
    if (d.before.icat.defined()) row("ICAT", d.before.icat, d.after.icat, d.change.icat);
  }
  line(s, "perplexity ", "{:.2f} -> {:.2f} ({}) on the other half of the neutral text",
       r.perplexity_before, r.perplexity_after,
       in_percent(r.perplexity_after, r.perplexity_before));
}

void add_controls(const LmDebiasReport& r, Sheet& sheet) {
  if (r.controls.empty()) return;
  static const SheetColumns columns =
      sheet_columns("  {control:12} {SS:>18} {LMS:>18} {perplexity:>10} {KL:>8}");
  SheetSection& s =
      sheet.add("CONTROLS",
                "all items, an edit from all pairs each; random and tempered have the "
                "KL of the edit");
  s.table(columns);
  for (const LmControl& c : r.controls)
    s.row(columns, {c.name, SheetCell(lm_cell(c.figures.ss, 1), c.figures.ss),
                    SheetCell(lm_cell(c.figures.lms, 1), c.figures.lms),
                    fmt::format("{:.2f}", c.perplexity), fmt::format("{:.4f}", c.kl)});
}

}  // namespace

std::string lm_receipt_json(const LmDebiasReport& r, const RunNote& run) {
  Json json = {{"schema", 2}, {"command", "lm debias"}};
  json["model"] = {
      {"name", r.model},
      {"type", r.type},
      {"kind", r.kind},
      {"out", r.out},
      {"sha256_before", r.model_files.empty() ? "" : r.model_files[0].sha256_before},
      {"sha256_after", r.model_files.empty() ? "" : r.model_files[0].sha256_after}};
  for (const ModelFileNote& file : r.model_files)
    json["model"]["files"].push_back({{"name", file.name},
                                      {"sha256_before", text_or_null(file.sha256_before)},
                                      {"sha256_after", file.sha256_after}});
  json["data"] = Json::array();
  for (const DataNote& note : r.data)
    json["data"].push_back({{"role", note.role},
                            {"name", note.name},
                            {"sha256", text_or_null(note.sha256)},
                            {"rows", note.rows}});
  json["options"] = Json::parse(r.options);
  json["edit"] = edit_json(r.edit);
  json["states_of_curvature"] = r.states_of_curvature;
  json["cross_fitted"] = r.cross_fitted;
  json["domains"] = Json::array();
  for (const LmDebiasDomain& d : r.domains)
    json["domains"].push_back({{"domain", d.domain},
                               {"items", d.items},
                               {"targets", d.terms},
                               {"before", lm_figures_json(d.before)},
                               {"after", lm_figures_json(d.after)},
                               {"change", lm_figures_json(d.change)},
                               {"verdict", lm_verdict(d)}});
  json["perplexity"] = {{"before", number(r.perplexity_before)},
                        {"after", number(r.perplexity_after)}};
  json["controls"] = Json::array();
  for (const LmControl& c : r.controls) {
    Json one = {{"name", c.name}, {"kl", number(c.kl)}};
    one.update(lm_figures_json(c.figures));
    one["perplexity"] = number(c.perplexity);
    json["controls"].push_back(one);
  }
  json["notes"] = r.notes;
  json["versions"] = {{"fmd", kVersion}};
  json["seed"] = r.seed;
  json["run"] = {
      {"date", run.date}, {"seconds", run.seconds}, {"cpu_seconds", run.cpu_seconds}};
  return json_lines(json);
}

Sheet sheet_of(const LmDebiasReport& r) {
  Sheet sheet;
  sheet.command = "lm debias";
  SheetSection& s = sheet.add();
  line(s, "model  ", "{} ({}, {})", r.model, r.type, r.kind);
  for (const DataNote& note : r.data)
    line(s, fmt::format("{:<7}", note.role == "stereoset" ? "test" : note.role),
         "{}, {} {}", note.name, text::count(note.rows),
         note.role == "text" ? "tokens" : "items");
  if (r.method == "project")
    line(s, "edit   ", "soft projection, lambda {:g}; predicted KL {:.4f} a token",
         r.lambda, r.edit.kl);
  else if (r.edit.value == 0)
    line(s, "edit   ", "none: no size of the step brings left-out targets nearer to 50");
  else
    line(s, "edit   ",
         "{} from {} pairs of {} targets; {} {:g}, predicted KL {:.4f} a token{}", r.method,
         text::count(r.edit.pairs), r.edit.groups, r.method == "solve" ? "lambda" : "share",
         r.edit.value, r.edit.kl,
         r.edit.limited ? " (the limit of the KL was active)" : "");
  if (r.method != "project")
    line(s, "       ", "SS of the pairs, left out by target: {:.1f} -> {:.1f}, linearised",
         r.edit.score_before, r.edit.score_predicted);
  add_domains(r, sheet);
  add_controls(r, sheet);
  SheetSection& limits = sheet.add("WHAT THIS DOES NOT SAY");
  limits.line("",
              "SS compares words that go with a stereotype. It hardly looks at the group "
              "itself, and says nothing on text that the model writes.");
  for (const std::string& note : r.notes) limits.line("note   ", note);
  return sheet;
}

}  // namespace fmd
