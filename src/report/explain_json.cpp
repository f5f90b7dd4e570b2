#include "fmd/report/explain_report.h"
#include "fmd/version.h"
#include "report/json.h"

namespace fmd {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json check_json(const RemovalCheck& check) {
  return {{"rows", check.rows},
          {"predicted", number(check.predicted)},
          {"capped", check.capped},
          {"newton", number(check.newton)},
          {"refitted", number(check.refitted)},
          {"converged", check.converged},
          {"fine_tuned", check.fine_tuned}};
}

Json rounds_json(const Removal& removal) {
  Json rounds = Json::array();
  for (const RemovalCheck& round : removal.rounds)
    rounds.push_back({{"rows", round.rows},
                      {"predicted", number(round.predicted)},
                      {"refitted", number(round.refitted)}});
  return {{"rows", removal.entries.size()},
          {"before", number(removal.before)},
          {"after", number(removal.after)},
          {"stopped", removal.stopped},
          {"rounds", rounds}};
}

Json measure_json(const ExplainedMeasure& m, const Task& task) {
  Json cells = Json::array();
  for (const InfluenceCell& cell : m.cells)
    cells.push_back({{"label", task.classes[static_cast<std::size_t>(cell.label)]},
                     {"group", m.values[static_cast<std::size_t>(cell.group)]},
                     {"rows", cell.rows},
                     {"sum", number(cell.sum)},
                     {"per_100", number(cell.per_100())}});
  return {{"measure", m.measure},
          {"attribute", text_or_null(m.attribute)},
          {"value", number(m.value)},
          {"rests_on", m.rests_on},
          {"against", m.against},
          {"cells", cells},
          {"check", m.check ? check_json(*m.check) : Json(nullptr)},
          {"in_rounds", m.rounds ? rounds_json(*m.rounds) : Json(nullptr)}};
}

}  // namespace

std::string to_json(const ExplainReport& r) {
  Json measures = Json::array();
  for (const ExplainedMeasure& m : r.measures) measures.push_back(measure_json(m, r.task));
  const Json json = {
      {"schema", 1},
      {"command", "explain"},
      {"version", kVersion},
      {"model", {{"name", r.model}, {"sha256", text_or_null(r.model_sha256)}}},
      {"data",
       {{"name", r.data}, {"sha256", text_or_null(r.data_sha256)}, {"rows", r.data_rows}}},
      {"train",
       {{"name", r.train},
        {"sha256", text_or_null(r.train_sha256)},
        {"rows", r.train_rows},
        {"known_from_training", r.known < 0 ? Json(nullptr) : Json(r.known)}}},
      {"solve",
       {{"solver", r.solve.solver},
        {"hessian", r.hessian_source},
        {"l2", number(r.l2)},
        {"residual", number(r.solve.residual)},
        {"converged", r.solve.converged},
        {"damping", number(r.solve.damping)},
        {"rcond", number(r.solve.rcond)},
        {"iterations", r.solve.iterations},
        {"cached", r.solve.cached}}},
      {"relative_gradient", number(r.relative_gradient)},
      {"at_optimum", r.at_optimum},
      {"measures", measures},
      {"seed", r.seed}};
  return json.dump(2) + "\n";
}

}  // namespace fmd
