#include "report/debias_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fmd/report/debias_report.h"
#include "fmd/version.h"

namespace fmd {
namespace {

Json data_json(const std::vector<DataNote>& notes) {
  Json all = Json::array();
  for (const DataNote& note : notes) {
    Json one = {{"role", note.role}, {"name", note.name}};
    one["sha256"] = note.sha256.empty() ? Json(nullptr) : Json(note.sha256);
    one["rows"] = note.rows > 0 ? Json(note.rows) : Json(nullptr);
    one["split_seed"] = note.split_seed ? Json(*note.split_seed) : Json(nullptr);
    one["overlap_with_training"] = note.overlap < 0 ? Json(nullptr) : Json(note.overlap);
    one["overlap_by_chance"] = number(note.by_chance);
    if (!note.key.empty()) one["key"] = note.key;
    all.push_back(one);
  }
  return all;
}

// What names a candidate: lambda, or s and, where training rows were taken, K.
Json key_json(const Candidate& point) {
  Json json = Json::object();
  if (std::isinf(point.lambda))
    json["lambda"] = "infinity";
  else if (!std::isnan(point.lambda))
    json["lambda"] = point.lambda;
  if (!std::isnan(point.s)) json["s"] = point.s;
  if (point.K > 0) json["K"] = point.K;
  if (!std::isnan(point.gamma)) json["gamma"] = point.gamma;
  if (!std::isnan(point.mu)) json["mu"] = point.mu;
  return json;
}

Json point_json(const Candidate& point, const std::vector<std::string>& repaired,
                const std::string& measure) {
  Json json = key_json(point);
  json["kind"] = point.kind;
  json["accuracy"] = interval_json(point.accuracy);
  json["accuracy_change"] = interval_json(point.accuracy_change);
  json["log_loss"] = number(point.log_loss);
  Json measures;
  for (std::size_t a = 0; a < repaired.size(); ++a) {
    measures[repaired[a]] = {{measure, interval_json(point.bias[a])},
                             {"change", interval_json(point.bias_change[a])}};
  }
  json["measures"] = measures;
  json["lowers_bias"] = point.lowers_bias;
  json["target"] = to_string(point.target);
  return json;
}

// A receipt is handed on: groups so small that persons could be told apart keep their name
// only.
constexpr Index kFewestShown = kMaskedRows;

Json masked(const Json& group) {
  Json json = group;
  for (auto& [key, value] : json.items())
    if (key != "value" && key != "attribute" && key != "group") value = nullptr;
  json["reason"] = "fewer than 10 rows";
  return json;
}

}  // namespace

Json measures_json(const AuditReport& audit) {
  Json json = figures_json(audit);
  for (Json& attribute : json["attributes"]) {
    attribute.erase("flips");
    if (attribute.contains("match")) attribute["match"].erase("balance");
    for (Json& group : attribute["groups"])
      if (!group["rows"].is_number()) group = masked(group);
  }
  return json;
}

namespace {

Json contenders_json(const std::vector<Contender>& all, bool controls) {
  Json json = Json::object();
  for (const Contender& contender : all) {
    const bool main = contender.name == "before" || contender.name == "repaired";
    if (main == controls) continue;
    const std::string key = contender.name == "repaired" ? "after" : contender.name;
    if (contender.audit) {
      json[key] = measures_json(*contender.audit);
    } else {
      json[key] = {{"value", nullptr}, {"reason", contender.reason}};
    }
  }
  return json;
}

Json moved_json(const Moved& moved) {
  Json groups = Json::array(), measures = Json::array(), inputs = Json::array();
  for (const GroupMove& g : moved.groups) {
    const Json group = {{"attribute", g.attribute},
                        {"group", g.group},
                        {"rows", g.rows},
                        {"gained", g.gained},
                        {"lost", g.lost},
                        {"favorable_rate_before", number(g.rate_before)},
                        {"favorable_rate_after", number(g.rate_after)}};
    groups.push_back(g.rows < kFewestShown ? masked(group) : group);
  }
  for (const MeasureMove& m : moved.measures) {
    Json one = {{"attribute", m.attribute}, {"measure", m.measure}, {"about", m.about}};
    one["before"] = interval_json(m.before);
    one["after"] = interval_json(m.after);
    one["change"] = interval_json(m.change, "no paired interval");
    one["worse"] = m.worse;
    measures.push_back(one);
  }
  for (const InputMove& i : moved.inputs)
    inputs.push_back({{"feature", i.feature}, {"moved_by", number(i.after - i.before)}});
  return {{"decisions", groups}, {"measures", measures}, {"inputs", inputs}};
}

Json chosen_json(const DebiasReport& r) {
  Json json = {{"rule", r.rule}, {"candidates", r.points.size()}};
  if (r.chosen >= 0) {
    const Candidate& point = r.points[static_cast<std::size_t>(r.chosen)];
    json.update(key_json(point));
    json["on_holdout"] = point_json(point, r.repaired, r.measure);
  }
  return json;
}

double co_of(const std::vector<Contender>& contenders, std::size_t at,
             const std::string& attribute) {
  const AttributeAudit* audit =
      contenders[at].audit ? contenders[at].audit->find(attribute) : nullptr;
  return audit == nullptr || !audit->flip ? kUndefined : audit->flip->co.value;
}

// Before and after as measured, between them what was predicted, and both changes.
Json part_json(const std::vector<Contender>& contenders,
               const std::vector<Predicted>& predicted,
               const std::vector<std::string>& repaired, const char* empty_reason) {
  if (contenders.empty()) return {{"value", nullptr}, {"reason", empty_reason}};
  const Json measured = contenders_json(contenders, false);
  Json expected, change;
  for (std::size_t a = 0; a < repaired.size(); ++a) {
    Json& co = expected[repaired[a]]["co"];
    co["value"] = number(predicted[a].value);
    if (std::isnan(predicted[a].value))
      co["reason"] = "only for step, remove, replace, and for two classes on the path";
    if (predicted[a].capped) co["capped"] = true;
    change[repaired[a]]["co"] = {{"predicted", number(predicted[a].change)},
                                 {"measured", number(co_of(contenders, 1, repaired[a]) -
                                                     co_of(contenders, 0, repaired[a]))}};
  }
  return {{"before", measured["before"]},
          {"predicted", expected},
          {"after", measured["after"]},
          {"change", change}};
}

}  // namespace

std::string receipt_json(const DebiasReport& r, const RunNote& run) {
  Json json;
  json["schema"] = 1;
  json["kind"] = "fmd receipt";
  json["says"] =
      fmt::format("repaired for the {} of {} on {}",
                  r.measure == "equalized_odds_soft" ? "gap of soft odds" : "flip gap",
                  fmt::join(r.repaired, ", "), r.data[0].name);
  json["model"] = {{"name", r.model},
                   {"out", r.out},
                   {"sha256_before", r.model_sha256},
                   {"sha256_after", r.out_sha256}};
  json["data"] = data_json(r.data);
  json["rows"] = {
      {"edit", r.edit_rows}, {"holdout", r.holdout_rows}, {"edit_pairs", r.pairs}};
  json["optimistic"] = r.optimistic;
  json["task"] = Json::parse(to_json(r.task));
  json["repaired"] = r.repaired;
  json["options"] = Json::parse(r.options);
  json["chosen"] = chosen_json(r);
  json["solve"] = {{"method", r.method},
                   {"status", r.solve_status},
                   {"solver", r.solve.solver},
                   {"residual", number(r.solve.residual)},
                   {"damping", number(r.solve.damping)},
                   {"rcond", number(r.solve.rcond)},
                   {"iterations", r.solve.iterations},
                   {"relative_gradient", number(r.relative_gradient)},
                   {"hessian_rows", r.hessian_source}};
  json["measures"] = {
      {"holdout", part_json(r.holdout, r.predicted_holdout, r.repaired, "none")},
      {"test", part_json(r.test, r.predicted_test, r.repaired, "no --test was given")}};
  json["accuracy_change"] = interval_json(r.accuracy_change);
  json["moved"] = moved_json(r.moved);
  json["controls"] = contenders_json(r.figures(), true);
  json["attribute_use"] = Json::array();
  for (const AttributeUse& use : r.attribute_use) {
    json["attribute_use"].push_back({{"attribute", use.attribute},
                                     {"read_by_model", use.read_by_model},
                                     {"used_to_choose_weights", use.chose_weights},
                                     {"needed_at_prediction", use.needed_at_prediction}});
  }
  json["figures_from"] = r.test.empty() ? "hold-out, used for the choice" : "test";
  json["versions"] = {{"fmd", kVersion}, {"cpu_kernel", r.blas_kernel}};
  json["seed"] = r.seed;
  json["run"] = {
      {"date", run.date}, {"seconds", run.seconds}, {"cpu_seconds", run.cpu_seconds}};
  return json.dump(2) + "\n";
}

std::string path_json(const DebiasReport& r) {
  Json json;
  json["schema"] = 1;
  json["kind"] = "fmd path";
  json["rows"] = {{"holdout", r.holdout_rows}};
  json["repaired"] = r.repaired;
  json["measure"] = r.measure;
  json["tensors"] = r.out + ".path.safetensors";
  json["chosen"] = r.chosen;
  json["points"] = Json::array();
  for (const Candidate& point : r.points)
    json["points"].push_back(point_json(point, r.repaired, r.measure));
  return json.dump(2) + "\n";
}

}  // namespace fmd
