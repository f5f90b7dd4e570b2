#include "report/json_difference.h"

#include <algorithm>

#include <fmt/format.h>

namespace fmd::internal {
namespace {

constexpr std::size_t kMostShown = 40;  // characters of a value

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  return text;
}

void differ(const std::string& where, const Json& claimed, const Json& now,
            JsonDifference& into) {
  if (into.differing++ == 0)
    into.first =
        fmt::format("{}: the receipt says {}, now {}", where, shown(claimed), shown(now));
}

void compare_objects(const std::string& where, const Json& claimed, const Json& now,
                     double tolerance, JsonDifference& into) {
  for (const auto& [key, value] : claimed.items()) {
    const std::string at = where + "." + key;
    if (now.contains(key))
      add_differences(at, value, now[key], tolerance, into);
    else
      differ(at, value, nullptr, into);
  }
  for (const auto& [key, value] : now.items())
    if (!claimed.contains(key)) differ(where + "." + key, nullptr, value, into);
}

}  // namespace

void add_differences(const std::string& where, const Json& claimed, const Json& now,
                     double tolerance, JsonDifference& into) {
  if (claimed.is_number() && now.is_number()) {
    const double a = claimed.get<double>(), b = now.get<double>();
    const double difference = std::abs(a - b) / std::max(1.0, std::abs(a));
    ++into.compared;
    into.largest = std::max(into.largest, difference);
    if (!(difference <= tolerance)) differ(where, claimed, now, into);
  } else if (claimed.is_object() && now.is_object()) {
    compare_objects(where, claimed, now, tolerance, into);
  } else if (claimed.is_array() && now.is_array() && claimed.size() == now.size()) {
    for (std::size_t i = 0; i < claimed.size(); ++i)
      add_differences(fmt::format("{}[{}]", where, i), claimed[i], now[i], tolerance, into);
  } else if (claimed != now) {
    differ(where, claimed, now, into);
  }
}

}  // namespace fmd::internal
