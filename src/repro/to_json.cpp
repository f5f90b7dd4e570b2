#include <cmath>

#include <nlohmann/json.hpp>

#include "fmd/repro/reproduce.h"

namespace fmd {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json means(const std::map<std::string, SeedMean>& values) {
  Json json = Json::object();
  for (const auto& [name, mean] : values)
    json[name] = {{"mean", number(mean.mean)},
                  {"low", number(mean.low)},
                  {"high", number(mean.high)},
                  {"seeds", mean.seeds}};
  return json;
}

Json numbers(const std::map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = number(value);
  return json;
}

}  // namespace

std::string to_json(const ReproducedTable& table) {
  Json cases = Json::array();
  for (const ReproducedCase& c : table.cases) {
    Json rows = Json::array();
    for (const ReproducedRow& row : c.rows)
      rows.push_back({{"id", row.id},
                      {"title", row.title},
                      {"paper", numbers(row.paper)},
                      {"bar", numbers(row.bar)},
                      {"ours", means(row.ours)},
                      {"labels_used", row.labels},
                      {"chosen_with_first_seed", row.chosen}});
    cases.push_back(
        {{"name", c.name}, {"title", c.title}, {"rows", rows}, {"facts", means(c.facts)}});
    if (!c.pictures.empty()) cases.back()["pictures"] = Json::parse(c.pictures);
  }
  const Json json = {{"schema", 1},
                     {"command", "reproduce"},
                     {"table", table.name},
                     {"title", table.title},
                     {"source", table.source},
                     {"quick", table.quick},
                     {"seeds", table.seeds},
                     {"cases", cases},
                     {"notes", table.notes},
                     {"machine", table.machine},
                     {"version", table.version}};
  return json.dump(2) + "\n";
}

}  // namespace fmd
