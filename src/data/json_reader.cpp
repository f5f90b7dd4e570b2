#include "data/json_reader.h"

#include <cmath>

#include <fmt/format.h>

#include "core/json.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {

using nlohmann::json;

const char* kind_text(ColumnKind kind) {
  return kind == ColumnKind::number ? "number" : "category";
}

std::string json_text(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

json JsonReader::parse(const std::string& text, const std::string& source) {
  return parse_json(text, source);
}

JsonReader::JsonReader(const json& object, std::string source)
    : object_(&object), source_(std::move(source)) {
  if (!object.is_object()) fail("is not a JSON object");
}

void JsonReader::fail(const std::string& what) const {
  throw Error(
      ErrorKind::bad_model, fmt::format("{}: {}", source_, what),
      "the file was changed by hand, or by another version of fmd: take the original");
}

void JsonReader::fail_field(const char* key, const char* needed) const {
  // Lists and objects are not shown: writing them calls itself for each level, and a
  // damaged file may have any number of levels.
  const json& found = object_->at(key);
  const std::string value = found.is_array()    ? "a list"
                            : found.is_object() ? "an object"
                                                : shorten(json_text(found));
  fail(fmt::format("\"{}\" is {}, must be {}", key, value, needed));
}

bool JsonReader::has(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

const json& JsonReader::at(const char* key) const {
  if (!has(key)) fail(fmt::format("\"{}\" is missing", key));
  return object_->at(key);
}

std::string JsonReader::text(const char* key) const {
  if (!at(key).is_string()) fail_field(key, "a text");
  return at(key).get<std::string>();
}

double JsonReader::number(const char* key) const {
  const json& value = at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    fail_field(key, "a number");
  return value.get<double>();
}

Index JsonReader::count(const char* key) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  const json& value = at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
    fail_field(key, "a whole number >= 0");
  }
  return static_cast<Index>(value.get<std::uint64_t>());
}

bool JsonReader::flag(const char* key) const {
  if (!at(key).is_boolean()) fail_field(key, "true or false");
  return at(key).get<bool>();
}

std::vector<std::string> JsonReader::texts(const char* key) const {
  if (!at(key).is_array()) fail_field(key, "a list of texts");
  std::vector<std::string> result;
  for (const json& element : at(key)) {
    if (!element.is_string()) fail_field(key, "a list of texts");
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::vector<double> JsonReader::numbers(const char* key) const {
  if (!at(key).is_array()) fail_field(key, "a list of numbers");
  std::vector<double> result;
  for (const json& element : at(key)) {
    if (!element.is_number() || !std::isfinite(element.get<double>()))
      fail_field(key, "a list of numbers");
    result.push_back(element.get<double>());
  }
  return result;
}

std::vector<std::string> JsonReader::keys() const {
  std::vector<std::string> result;
  for (const auto& item : object_->items()) result.push_back(item.key());
  return result;
}

JsonReader JsonReader::object(const char* key) const {
  return {at(key), fmt::format("{}, {}", source_, shorten(key))};
}

std::vector<JsonReader> JsonReader::objects(const char* key) const {
  if (!at(key).is_array()) fail_field(key, "a list of objects");
  std::vector<JsonReader> result;
  for (const json& element : at(key)) {
    result.emplace_back(element, fmt::format("{}, {} {}", source_, key, result.size() + 1));
  }
  return result;
}

ColumnKind JsonReader::kind(const char* key) const {
  const std::string name = text(key);
  if (name == "number") return ColumnKind::number;
  if (name != "category") fail_field(key, "\"number\" or \"category\"");
  return ColumnKind::category;
}

std::map<std::string, ColumnKind> JsonReader::kinds(const char* key) const {
  const JsonReader object(at(key), fmt::format("{}, {}", source_, key));
  std::map<std::string, ColumnKind> result;
  for (const auto& item : at(key).items())
    result[item.key()] = object.kind(item.key().c_str());
  return result;
}

}  // namespace fmd::internal
