#include "repro/cache.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/version.h"

namespace fmd::repro {
namespace {

using Json = nlohmann::ordered_json;

Json numbers(const std::map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values)
    json[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  return json;
}

std::map<std::string, double> numbers(const Json& json) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : json.items())
    values[name] =
        value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  return values;
}

Json to_json(const UnitResult& unit) {
  Json rows = Json::array();
  for (const Measured& row : unit.rows)
    rows.push_back({{"id", row.id},
                    {"value", numbers(row.value)},
                    {"chosen", row.chosen},
                    {"labels", row.labels}});
  return {{"rows", rows}, {"facts", numbers(unit.facts)}, {"pictures", unit.pictures}};
}

UnitResult from_json(const Json& json) {
  UnitResult unit;
  for (const Json& row : json.at("rows"))
    unit.rows.push_back({row.at("id").get<std::string>(), numbers(row.at("value")),
                         row.at("chosen").get<std::string>(),
                         row.at("labels").get<bool>()});
  unit.facts = numbers(json.at("facts"));
  unit.pictures = json.at("pictures").get<std::string>();
  return unit;
}

}  // namespace

UnitCache::UnitCache(std::filesystem::path path, bool fresh) : path_(std::move(path)) {
  if (path_.empty() || fresh || !std::filesystem::is_regular_file(path_)) return;
  try {
    const FileView file = FileView::open(path_, internal::kMostJson);
    const Json json = internal::parse_json<Json>(file.text(), path_.string());
    if (!json.is_object() || json.value("schema", 0) != 1) return;
    for (const auto& [key, unit] : json.at("units").items()) units_[key] = from_json(unit);
  } catch (const nlohmann::json::exception&) {
    units_.clear();
  } catch (const Error&) {  // damaged: made again
    units_.clear();
  }
}

const UnitResult* UnitCache::find(const std::string& key) const {
  const auto found = units_.find(key);
  return found == units_.end() ? nullptr : &found->second;
}

void UnitCache::add(const std::string& key, const UnitResult& result) {
  units_[key] = result;
  if (path_.empty()) return;
  Json units = Json::object();
  for (const auto& [name, unit] : units_) units[name] = to_json(unit);
  std::error_code failed;
  const std::filesystem::path folder = path_.parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw Error(ErrorKind::cannot_write,
                fmt::format("reproduce: the folder {} cannot be made: {}", folder.string(),
                            failed.message()),
                "choose another one: fmd reproduce TABLE -o FOLDER");
  }
  write_file(path_, Json({{"schema", 1}, {"units", units}}).dump(1) + "\n", true);
}

std::string unit_key(const Unit& unit) {
  const std::string text = fmt::format("{}|{}|{}|{}|{}", version(), unit.spec->text,
                                       unit.c->name, unit.quick, unit.seed);
  const Hash hash =
      sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return fmt::format("{} {} seed {}{} {}", unit.spec->name, unit.c->name, unit.seed,
                     unit.quick ? " quick" : "", hex(hash).substr(0, 16));
}

}  // namespace fmd::repro
