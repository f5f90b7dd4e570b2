#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "fmd/metrics/interval.h"

namespace fmd {

using Json = nlohmann::ordered_json;

// NaN and infinity have no JSON form: null.
inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// {value, low, high}; an undefined one is {value: null, reason}.
inline Json interval_json(const Interval& interval, const std::string& reason = "undefined") {
  if (!interval.defined()) return {{"value", nullptr}, {"reason", reason}};
  return {{"value", number(interval.value)},
          {"low", number(interval.low)},
          {"high", number(interval.high)}};
}

}  // namespace fmd
