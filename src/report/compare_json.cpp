#include "fmd/report/compare_report.h"
#include "fmd/version.h"
#include "report/json.h"

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

}  // namespace fmd
