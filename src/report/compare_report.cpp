#include "fmd/report/compare_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "fmd/core/safe_text.h"
#include "fmd/version.h"
#include "report/json.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd {
namespace {

Json figures_json(const CompareFigures& f) {
  const auto group = [&](const Interval& i) { return interval_json(i, f.group_reason); };
  Json worst = interval_json(f.worst_group, "no group is large enough");
  if (f.worst_group.defined()) worst["group"] = f.worst_group_name;
  return {{"rows", f.rows},
          {"accuracy", interval_json(f.accuracy)},
          {"accuracy_change", interval_json(f.accuracy_change)},
          {"co", interval_json(f.co, f.flip_reason)},
          {"flip_rate", interval_json(f.flip_rate, f.flip_reason)},
          {"demographic_parity", group(f.demographic_parity)},
          {"equal_opportunity", group(f.equal_opportunity)},
          {"equalized_odds", group(f.equalized_odds)},
          {"worst_group_accuracy", worst}};
}

// Values that the choice was made on; nothing else was measured there.
Json holdout_json(const ComparedMethod& m, const std::string& measure) {
  const CompareFigures& f = m.holdout;
  const Interval& bias = measure == "co"                   ? f.co
                         : measure == "flip_rate"          ? f.flip_rate
                         : measure == "demographic_parity" ? f.demographic_parity
                         : measure == "equal_opportunity"  ? f.equal_opportunity
                                                           : f.equalized_odds;
  return {{"rows", f.rows},
          {"accuracy", number(f.accuracy.value)},
          {"accuracy_change", number(f.accuracy_change.value)},
          {measure, number(bias.value)}};
}

Json method_json(const ComparedMethod& m, const std::string& measure) {
  Json json = {
      {"name", m.name},   {"title", m.title},
      {"kind", m.kind},   {"source", text_or_null(m.source)},
      {"needs", m.needs}, {"answers", m.decisions_only ? "decisions" : "probabilities"}};
  if (!m.reason.empty()) {
    json["applies"] = false;
    json["reason"] = m.reason;
    return json;
  }
  json["applies"] = true;
  json["candidates"] = m.candidates;
  json["setting"] = text_or_null(m.setting);
  json["within_budget"] = m.kind == "outside" ? Json(nullptr) : Json(m.within_budget);
  json["holdout"] = m.kind == "outside" ? Json(nullptr) : holdout_json(m, measure);
  json["test"] = figures_json(m.test);
  return json;
}

}  // namespace

std::string compare_json(const CompareReport& r, const RunNote& run) {
  Index rows = 0;
  Json parts = Json::array(), methods = Json::array(), times = Json::object();
  for (const ComparePart& part : r.parts) {
    rows += part.rows;
    parts.push_back({{"name", part.name}, {"rows", part.rows}});
  }
  for (const ComparedMethod& m : r.methods) {
    methods.push_back(method_json(m, r.measure));
    if (m.reason.empty() && m.kind != "outside")
      times[m.name] = {{"seconds", m.seconds},
                       {"cpu_seconds", m.cpu_seconds},
                       {"answer_cpu_seconds", m.answer_cpu_seconds}};
  }
  Json json = {
      {"schema", 1},
      {"command", "compare"},
      {"version", version()},
      {"data", data_json(r.data, r.data_sha256, rows)},
      {"model", model_json(r.model, "logistic", r.model_sha256)},
      {"task", Json::parse(to_json(r.task))},
      {"attribute", {{"name", r.attribute}, {"values", r.values}, {"reads", r.reads}}},
      {"optimistic", r.optimistic},
      {"rule",
       {{"words", r.rule},
        {"measure", r.measure},
        {"max_accuracy_loss", r.max_accuracy_loss},
        {"on", "holdout"}}},
      {"parts", parts},
      {"confidence", r.confidence},
      {"replicates", r.replicates},
      {"seed", r.seed},
      {"methods", methods},
      {"best", text_or_null(r.best)},
      {"dropping_the_column", dropped_json(r.dropped)},
      {"run",
       {{"date", run.date},
        {"seconds", run.seconds},
        {"cpu_seconds", run.cpu_seconds},
        {"methods", times}}}};
  if (!r.notes.empty()) json["notes"] = r.notes;
  return json_lines(json);
}

namespace {

using text::bare;
using text::clip;
using text::count;
using text::gap;
using text::percent;

void add_top(const CompareReport& r, SheetSection& s) {
  s.line("data   ", r.data);
  line(s, "model  ", "{}, {} {}; favourable: {}",
       r.model.empty() ? "logistic regression, trained here" : r.model,
       r.reads ? "reads" : "does not read", r.attribute,
       r.task.favorable.empty() ? "none named" : r.task.favorable);
  std::string parts;
  for (const ComparePart& part : r.parts)
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count(part.rows), part.name);
  s.line("rows   ", parts + "; no row is used twice");
  s.line("rule   ", r.rule + ", chosen on the hold-out");
  line(s, "",
       "figures from the test rows, which took no part in the choice; {:g} % "
       "intervals",
       100 * r.confidence);
  s.blank();
}

// The figure, and its interval below.
SheetCell above_range(const Interval& i, std::string (*text)(double)) {
  std::string ends;
  if (!std::isnan(i.low) && !std::isnan(i.high)) ends = text(i.low) + " " + text(i.high);
  SheetCell cell{text(i.value), i};
  cell.below = ends;
  return cell;
}

void add_figures(const CompareReport& r, SheetSection& s) {
  SheetColumns columns = sheet_columns(
      "{\nmethod:19.}{accuracy\n%:>11}{:>13}{" + text::favourable_word(r.task) +
      ",\ndifference:>12}{TPR,\ndifference:>12}{worst\ngroup %:>12}");
  columns[2].heading = "flip gap\n" + clip(safe_text(r.attribute), 12);
  const auto figure = [](double x) { return bare(x); };
  s.table(columns);
  for (const ComparedMethod& m : r.methods) {
    if (!m.reason.empty()) continue;
    const CompareFigures& f = m.test;
    SheetCell name = m.name, co = above_range(f.co, figure);
    name.mark = !m.within_budget;
    co.text = gap(f.co.value);
    s.row(columns,
          {name, above_range(f.accuracy, percent), co,
           above_range(f.demographic_parity, figure),
           above_range(f.equal_opportunity, figure), above_range(f.worst_group, percent)});
  }
}

std::string seconds(double s) {
  if (s < 0.0005) return "<.001";
  return s < 10 ? bare(s, 3) : fmt::format("{:.1f}", s);
}

void add_needs(const CompareReport& r, SheetSection& s) {
  static const SheetColumns columns = sheet_columns(
      "{\nmethod:19.}{acc.\nchange:>7}{answers\nchange %:>9}{CPU s\nto fit:>9}  {needs "
      "when it answers\nsetting that was chosen}");
  s.blank();
  s.table(columns);
  for (const ComparedMethod& m : r.methods) {
    if (!m.reason.empty()) continue;
    const Interval& change = m.test.accuracy_change;
    s.row(columns,
          {m.name,
           {m.name == "vanilla" ? "" : fmt::format("{:+.1f}", 100 * change.value), change},
           {percent(m.test.flip_rate.value), m.test.flip_rate},
           m.kind == "outside" ? "-" : seconds(m.cpu_seconds),
           m.needs});
    if (!m.setting.empty()) s.line(std::string(30, ' '), m.setting);
  }
}

void add_notes(const CompareReport& r, SheetSection& s) {
  bool over = false, decisions = false;
  for (const ComparedMethod& m : r.methods) {
    over = over || !m.within_budget;
    decisions = decisions || (m.reason.empty() && m.decisions_only);
  }
  const auto note = [&](const std::string& words) { s.line("note   ", words); };
  s.blank();
  if (text::rates_mislead(r.task)) note(std::string(text::kRateWords) + ".");
  if (over)
    note("! no setting meets the rule on the hold-out: the most accurate one is shown.");
  if (decisions)
    note(
        "Methods that give only decisions have the flip gap of their decisions: a changed "
        "decision counts 1.");
  if (const std::string words = dropped_column_words(r.dropped, r.best); !words.empty())
    note(words);
  if (r.optimistic) note("Rows of DATA were used in training: figures are optimistic.");
  for (const ComparedMethod& m : r.methods)
    if (!m.reason.empty()) note(fmt::format("{} was left out: {}.", m.name, m.reason));
  note(
      "Methods that decide at random have expected figures. CPU s: to fit all settings. A "
      "method that needs the attribute treats two equal persons of two groups differently "
      "by design.");
}

}  // namespace

Sheet sheet_of(const CompareReport& r) {
  Sheet sheet;
  sheet.command = "compare";
  sheet.data = r.data;
  SheetSection& s = sheet.add();
  add_top(r, s);
  add_figures(r, s);
  add_needs(r, s);
  add_notes(r, s);
  return sheet;
}

}  // namespace fmd
