#pragma once

#include <cmath>
#include <string>

#include "core/json.h"
#include "fmd/metrics/interval.h"
#include "fmd/report/dropped_column.h"

namespace fmd::internal {

using Json = nlohmann::ordered_json;

// NaN and infinity have no JSON form: null.
inline Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// null where there is no text.
inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// {value, low, high, interval: where the ends come from}; an undefined one is {value: null,
// reason}.
inline Json interval_json(const Interval& interval,
                          const std::string& reason = "undefined") {
  if (!interval.defined()) return {{"value", nullptr}, {"reason", reason}};
  Json json = {{"value", number(interval.value)},
               {"low", number(interval.low)},
               {"high", number(interval.high)}};
  if (interval.kind != IntervalKind::none) json["interval"] = to_string(interval.kind);
  return json;
}

inline Json dropped_json(const std::vector<DroppedColumn>& controls) {
  Json all = Json::array();
  for (const DroppedColumn& one : controls)
    all.push_back({{"control", one.control},
                   {"needs_retraining", one.retrains},
                   {"accuracy_change", interval_json(one.accuracy)},
                   {"as_well", one.as_well}});
  return all;
}

// {name, kind, sha256}; null for scores of another program, which have no name.
inline Json model_json(const std::string& name, const std::string& kind,
                       const std::string& sha256) {
  if (name.empty()) return nullptr;
  return {{"name", name}, {"kind", kind}, {"sha256", sha256}};
}

// {name, sha256, rows}; sha256 is null for data without a file.
inline Json data_json(const std::string& name, const std::string& sha256, Index rows) {
  return {{"name", name}, {"sha256", text_or_null(sha256)}, {"rows", rows}};
}

}  // namespace fmd::internal
