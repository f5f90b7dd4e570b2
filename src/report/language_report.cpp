#include "fmd/report/language_report.h"

#include <fmt/format.h>

#include "fmd/version.h"
#include "report/json.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd {
namespace {

using text::count;
using text::fixed;

Json figures_json(const StereotypeFigures& f) {
  const std::string none = "no unrelated sentences";
  return {{"ss", interval_json(f.ss)},
          {"lms", interval_json(f.lms, none)},
          {"icat", interval_json(f.icat, none)}};
}

Json items_json(const LanguageReport::Items& items) {
  Json domains = Json::array();
  for (const StereotypeDomain& d : items.domains)
    domains.push_back({{"domain", d.domain},
                       {"items", d.items},
                       {"terms", d.terms},
                       {"ties", d.ties},
                       {"left_out", d.left_out},
                       {"by_term", figures_json(d.by_term)},
                       {"by_example", figures_json(d.by_example)}});
  return {{"name", items.file},
          {"sha256", text_or_null(items.sha256)},
          {"items", items.items},
          {"domains", domains}};
}

Json swapped_json(const LanguageReport& report) {
  Json json = items_json(report.swapped);
  json["not_swapped"] = report.not_swapped;
  json["kept_preferences"] = Json::array();
  for (const auto& [domain, share] : report.kept)
    json["kept_preferences"].push_back(
        {{"domain", domain}, {"percent", interval_json(share)}});
  return json;
}

Json crows_json(const LanguageReport& report) {
  Json domains = Json::array();
  for (const CrowsDomain& d : report.crows_domains)
    domains.push_back({{"domain", d.domain},
                       {"pairs", d.pairs},
                       {"ties", d.ties},
                       {"unchanged", interval_json(d.unchanged)},
                       {"changed", interval_json(d.changed)}});
  return {{"name", report.crows}, {"sha256", report.crows_sha256}, {"domains", domains}};
}

Json seat_json(const LanguageReport& report) {
  Json tests = Json::array();
  for (const LanguageReport::Seat& one : report.seat)
    tests.push_back({{"name", one.file},
                     {"sha256", one.sha256},
                     {"targets", one.targets},
                     {"attributes", one.attributes},
                     {"effect", number(one.result.effect)},
                     {"p_value", number(one.result.p_value)},
                     {"divisions", one.result.divisions},
                     {"exact", one.result.exact}});
  return tests;
}

Json head_json(const LanguageReport& report) {
  if (report.model.empty()) return nullptr;
  return {{"name", report.model},    {"type", report.type},
          {"kind", report.kind},     {"vocabulary", report.vocabulary},
          {"cols", report.cols},     {"tied", report.tied},
          {"native", report.native}, {"backbone_sha256", report.backbone_hash}};
}

// ---------------------------------------------------------------- the screen

// 61.3 [55.4, 66.8]
std::string with_range(const Interval& i) {
  if (!i.defined()) return "-";
  if (std::isnan(i.low)) return fixed(i.value, 1);
  return fmt::format("{} [{}, {}]", fixed(i.value, 1), fixed(i.low, 1), fixed(i.high, 1));
}

void add_domains(SheetSection& section, const LanguageReport::Items& items, Sheet& sheet,
                 const std::string& prefix) {
  const SheetColumns columns = sheet_columns(
      "  {:12.} {items:>6} {terms:>5}  {SS, mean of terms:18.} {per item:>8} {LMS:>6} "
      "{ICAT:>6}");
  section.table(columns);
  for (const StereotypeDomain& d : items.domains) {
    section.row(columns, {d.domain, count(d.items), count(d.terms),
                          SheetCell(with_range(d.by_term.ss), d.by_term.ss),
                          SheetCell(fixed(d.by_example.ss.value, 1), d.by_example.ss),
                          SheetCell(fixed(d.by_term.lms.value, 1), d.by_term.lms),
                          SheetCell(fixed(d.by_term.icat.value, 1), d.by_term.icat)});
    const auto figure = [&](const char* name, const Interval& value) {
      sheet.figures.push_back({d.domain, "", prefix + name, value, std::to_string(d.items),
                               value.defined() ? "" : "undefined"});
    };
    figure("ss", d.by_term.ss);
    figure("lms", d.by_term.lms);
    figure("icat", d.by_term.icat);
    figure("ss_by_example", d.by_example.ss);
    figure("lms_by_example", d.by_example.lms);
    figure("icat_by_example", d.by_example.icat);
  }
}

void add_top(const LanguageReport& r, Sheet& sheet) {
  SheetSection& s = sheet.add();
  if (r.model.empty()) {
    line(s, "scores ", "{}, made by another program", r.scores);
  } else {
    line(s, "model  ", "{} ({}, {}), {} tokens, states of {} numbers, {} head", r.model,
         r.type, r.kind, count(r.vocabulary), count(r.cols), r.tied ? "tied" : "own");
  }
  if (!r.stereoset.file.empty())
    line(s, "data   ", "{}, {} items", r.stereoset.file, count(r.stereoset.items));
  if (!r.crows.empty()) line(s, "       ", "{}", r.crows);
  for (const std::string& note : r.notes) line(s, "note   ", "{}", note);
}

void add_stereotypes(const LanguageReport& r, Sheet& sheet) {
  if (!r.stereoset.domains.empty()) {
    SheetSection& s = sheet.add("STEREOTYPES ",
                                "SS: % of items where the stereotype is preferred; 50 = "
                                "neutral");
    add_domains(s, r.stereoset, sheet, "");
    for (const StereotypeDomain& d : r.stereoset.domains) {
      if (d.terms < 10)
        line(s, "  ", "{}: {} target terms are few; its interval is too narrow", d.domain,
             d.terms);
      if (d.left_out > 0)
        line(s, "  ", "{}: {} items without a score were left out", d.domain,
             count(d.left_out));
    }
    line(s, "  ",
         "LMS: % of comparisons won against the unrelated sentence. ICAT = LMS x "
         "min(SS, 100 - SS) / 50. Intervals ({:g} %): other target terms could "
         "have been asked.",
         100 * r.confidence);
  }
  if (!r.intersentence.domains.empty()) {
    SheetSection& s = sheet.add("NEXT SENTENCE ", "the second sentence, given the first");
    add_domains(s, r.intersentence, sheet, "intersentence_");
  }
}

void add_controls(const LanguageReport& r, Sheet& sheet) {
  if (!r.swapped.domains.empty()) {
    SheetSection& s = sheet.add("TARGETS SWAPPED ",
                                "another group in the same sentences (mother -> father)");
    const SheetColumns columns = sheet_columns(
        "  {:11.} {items:>6}  {SS as asked:17.} {SS swapped:17.} {keeps its sign, %:20.}");
    s.table(columns);
    for (const auto& [domain, kept] : r.kept) {
      const StereotypeDomain *asked = nullptr, *swapped = nullptr;
      for (const StereotypeDomain& d : r.stereoset.domains)
        if (d.domain == domain) asked = &d;
      for (const StereotypeDomain& d : r.swapped.domains)
        if (d.domain == domain) swapped = &d;
      if (asked == nullptr || swapped == nullptr) continue;
      s.row(columns, {domain, count(swapped->items),
                      SheetCell(with_range(asked->by_term.ss), asked->by_term.ss),
                      SheetCell(with_range(swapped->by_term.ss), swapped->by_term.ss),
                      SheetCell(with_range(kept), kept)});
      sheet.figures.push_back({domain, "", "swapped_ss", swapped->by_term.ss,
                               std::to_string(swapped->items), ""});
      sheet.figures.push_back(
          {domain, "", "kept_preferences", kept, std::to_string(swapped->items), ""});
    }
    line(s, "  ",
         "A preference that stays when the group changes is about the word, not "
         "about the group.");
  }
  if (!r.unseen.domains.empty()) {
    SheetSection& s =
        sheet.add("UNSEEN WORDS ", fmt::format("items without a word of {}", r.pairs));
    add_domains(s, r.unseen, sheet, "unseen_");
  }
  if (!r.seen.domains.empty()) {
    SheetSection& s = sheet.add("SEEN WORDS ", "items with a word of these pairs");
    add_domains(s, r.seen, sheet, "seen_");
  }
}

void add_crows(const LanguageReport& r, Sheet& sheet) {
  if (r.crows_domains.empty()) return;
  SheetSection& s = sheet.add("CROWS-PAIRS ",
                              "% of pairs where the more stereotyping sentence wins; 50 = "
                              "neutral");
  const SheetColumns columns =
      sheet_columns("  {:20.} {pairs:>6}  {unchanged tokens:20.} {changed tokens:20.}");
  s.table(columns);
  for (const CrowsDomain& d : r.crows_domains) {
    s.row(columns,
          {d.domain, count(d.pairs), SheetCell(with_range(d.unchanged), d.unchanged),
           SheetCell(with_range(d.changed), d.changed)});
    sheet.figures.push_back(
        {d.domain, "", "crows_unchanged", d.unchanged, std::to_string(d.pairs), ""});
    sheet.figures.push_back(
        {d.domain, "", "crows_changed", d.changed, std::to_string(d.pairs), ""});
  }
  if (r.kind == "causal")
    line(s, "  ",
         "A causal model reads from the left: \"changed\" is the mean over all "
         "tokens here.");
  line(s, "  ",
       "The data set has pairs of doubtful worth; its users warn of single figures.");
}

void add_seat(const LanguageReport& r, Sheet& sheet) {
  if (r.seat.empty()) return;
  SheetSection& s = sheet.add("SEAT ", "association of sentences; effect 0 = none");
  const SheetColumns columns =
      sheet_columns("  {targets:24.} {attributes:28.} {effect:>7} {p-value:>9}");
  s.table(columns);
  for (const LanguageReport::Seat& one : r.seat)
    s.row(columns, {one.targets, one.attributes, fixed(one.result.effect, 2),
                    fixed(one.result.p_value, 4)});
  line(s, "  ", "{}",
       "The states of the tokens are compared: an edit of the head does not "
       "change them.");
}

void add_text(const LanguageReport& r, Sheet& sheet) {
  if (r.text.empty()) return;
  SheetSection& s = sheet.add(r.kind == "masked" ? "PSEUDO-PERPLEXITY " : "PERPLEXITY ",
                              "lower = the model expects the text more");
  line(s, "  ", "{}: {} on {} ({} lines, {} tokens)", r.text, with_range(r.perplexity),
       "neutral text", count(r.text_lines), count(r.text_tokens));
  sheet.figures.push_back(
      {"", "", "perplexity", r.perplexity, std::to_string(r.text_lines), ""});
}

void add_limits(const LanguageReport& r, Sheet& sheet) {
  SheetSection& s = sheet.add("WHAT THIS DOES NOT SAY");
  line(s, "  ", "{}",
       "SS asks which of two words a model expects in a short sentence "
       "written by crowd workers. It is no measure of what the model does "
       "for a user, and 50 is no proof that it treats groups alike.");
  if (r.model.empty())
    line(s, "  ", "{}",
         "The scores were not made here: how they were made was not checked.");
  s.blocks.back().indent = 2;
}

}  // namespace

Sheet sheet_of(const LanguageReport& report) {
  Sheet sheet;
  sheet.command = "lm audit";
  sheet.data = report.stereoset.file.empty() ? report.crows : report.stereoset.file;
  add_top(report, sheet);
  add_stereotypes(report, sheet);
  add_controls(report, sheet);
  add_crows(report, sheet);
  add_seat(report, sheet);
  add_text(report, sheet);
  add_limits(report, sheet);
  return sheet;
}

std::string to_json(const LanguageReport& report) {
  Json json;
  json["schema"] = 1;
  json["command"] = "lm audit";
  json["version"] = kVersion;
  json["model"] = head_json(report);
  if (!report.scores.empty()) json["scores"] = report.scores;
  json["stereoset"] =
      report.stereoset.file.empty() ? Json(nullptr) : items_json(report.stereoset);
  json["intersentence"] = report.intersentence.domains.empty()
                              ? Json(nullptr)
                              : items_json(report.intersentence);
  json["intersentence_left_out"] = report.intersentence_left_out;
  json["swapped"] = report.swapped.domains.empty() ? Json(nullptr) : swapped_json(report);
  json["unseen"] =
      report.unseen.domains.empty() ? Json(nullptr) : items_json(report.unseen);
  json["seen"] = report.seen.domains.empty() ? Json(nullptr) : items_json(report.seen);
  if (!report.pairs.empty())
    json["pairs"] = {{"name", report.pairs}, {"sha256", report.pairs_sha256}};
  json["crows"] = report.crows.empty() ? Json(nullptr) : crows_json(report);
  if (!report.text.empty())
    json["perplexity"] = {{"name", report.text},
                          {"sha256", report.text_sha256},
                          {"lines", report.text_lines},
                          {"tokens", report.text_tokens},
                          {"value", interval_json(report.perplexity)}};
  if (!report.seat.empty()) json["seat"] = seat_json(report);
  json["confidence"] = report.confidence;
  json["replicates"] = report.replicates;
  json["seed"] = report.seed;
  json["states"] = report.states;
  json["notes"] = report.notes;
  return json_lines(json);
}

std::string scores_json(const LanguageReport& report) {
  const auto list = [](const std::vector<std::pair<std::string, double>>& scores) {
    Json all = Json::array();
    for (const auto& [id, score] : scores)
      if (std::isfinite(score)) all.push_back({{"id", id}, {"score", score}});
    return all;
  };
  return json_lines({{"intrasentence", list(report.within_scores)},
                     {"intersentence", list(report.next_scores)}});
}

}  // namespace fmd
