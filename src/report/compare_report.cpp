#include "fmd/report/compare_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "fmd/version.h"
#include "report/json.h"
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
      {"kind", m.kind},   {"source", m.source.empty() ? Json(nullptr) : Json(m.source)},
      {"needs", m.needs}, {"answers", m.decisions_only ? "decisions" : "probabilities"}};
  if (!m.reason.empty()) {
    json["applies"] = false;
    json["reason"] = m.reason;
    return json;
  }
  json["applies"] = true;
  json["candidates"] = m.candidates;
  json["setting"] = m.setting.empty() ? Json(nullptr) : Json(m.setting);
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
  const Json json = {
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
      {"run",
       {{"date", run.date},
        {"seconds", run.seconds},
        {"cpu_seconds", run.cpu_seconds},
        {"methods", times}}}};
  return json.dump(2) + "\n";
}

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
      "figures from the test rows, which took no part in the choice; {:g} % intervals\n\n",
      100 * r.confidence);
  return out;
}

std::string short_range(const Interval& i, bool in_percent) {
  if (std::isnan(i.low) || std::isnan(i.high)) return "";
  if (in_percent) return fmt::format("{} {}", percent(i.low), percent(i.high));
  return fmt::format("{} {}", bare(i.low), bare(i.high));
}

// Two lines for each method: figures, and their intervals.
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
    note("! no setting meets the rule on the hold-out: the most accurate one is shown.");
  if (decisions)
    note(
        "Methods that give only decisions have the flip gap of their decisions: a changed "
        "decision counts 1.");
  if (r.optimistic) note("Rows of DATA were used in training: figures are optimistic.");
  for (const ComparedMethod& m : r.methods)
    if (!m.reason.empty()) note(fmt::format("{} was left out: {}.", m.name, m.reason));
  note(
      "Methods that decide at random have expected figures. CPU s: to fit all settings. A "
      "method that needs the attribute treats two equal persons of two groups differently "
      "by design.");
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
