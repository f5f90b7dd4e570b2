#include "formats/document.h"

#include "core/check.h"
#include "formats/json_places.h"
#include "formats/ubjson.h"

namespace fmd::internal {
namespace {

// Text begins with a blank or a quote after the brace, UBJSON with a type.
bool is_binary(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2 || bytes[0] != '{') return false;
  return std::string_view("iUIlL$#").find(static_cast<char>(bytes[1])) !=
         std::string_view::npos;
}

const char* kind_name(DocumentValue::Kind kind) {
  switch (kind) {
    case DocumentValue::Kind::null:
      return "null";
    case DocumentValue::Kind::boolean:
      return "true or false";
    case DocumentValue::Kind::number:
      return "a number";
    case DocumentValue::Kind::text:
      return "a text";
    case DocumentValue::Kind::numbers:
      return "a list of numbers";
    case DocumentValue::Kind::list:
      return "a list";
    case DocumentValue::Kind::object:
      return "an object";
  }
  return "";
}

std::string member_place(const std::string& where, std::string_view key) {
  return where.empty() ? std::string(key) : fmt::format("{}.{}", where, key);
}

}  // namespace

Document::Document(std::span<const std::uint8_t> bytes, std::string source)
    : bytes_(bytes), source_(std::move(source)), binary_(is_binary(bytes)) {
  root_ = binary_ ? parse_ubjson(bytes_, source_) : parse_json_places(bytes_, source_);
  if (root_.kind != DocumentValue::Kind::object) fail("", "this is not an object");
}

const DocumentValue* Document::find(const DocumentValue& object, std::string_view key) {
  for (const auto& [name, value] : object.members)
    if (name == key) return &value;
  return nullptr;
}

const DocumentValue& Document::at(const DocumentValue& object, std::string_view key,
                                  const std::string& where) const {
  const DocumentValue* found = find(object, key);
  if (found == nullptr) fail(where, fmt::format("\"{}\" is missing", key));
  return *found;
}

const std::string& Document::text(const DocumentValue& object, std::string_view key,
                                  const std::string& where) const {
  const DocumentValue& value = at(object, key, where);
  if (value.kind != DocumentValue::Kind::text)
    fail(member_place(where, key),
         fmt::format("is {}, must be a text", kind_name(value.kind)));
  return value.text;
}

std::vector<double> Document::numbers(const DocumentValue& object, std::string_view key,
                                      const std::string& where) const {
  const DocumentValue& value = at(object, key, where);
  if (value.kind != DocumentValue::Kind::numbers)
    fail(member_place(where, key),
         fmt::format("is {}, must be a list of numbers", kind_name(value.kind)));
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(value.count));
  each(value, [&](double x, std::size_t, std::size_t) { all.push_back(x); });
  return all;
}

const std::vector<DocumentValue>& Document::list(const DocumentValue& object,
                                                 std::string_view key,
                                                 const std::string& where) const {
  const DocumentValue& value = at(object, key, where);
  const bool empty = value.kind == DocumentValue::Kind::numbers && value.count == 0;
  if (value.kind != DocumentValue::Kind::list && !empty)
    fail(member_place(where, key),
         fmt::format("is {}, must be a list", kind_name(value.kind)));
  return value.items;
}

void Document::each(const DocumentValue& numbers, const Visit& visit) const {
  if (binary_)
    each_ubjson(bytes_, numbers, visit);
  else
    each_json(bytes_, numbers, visit);
}

void Document::fail(const std::string& where, const std::string& what) const {
  throw Error(ErrorKind::bad_model,
              where.empty() ? fmt::format("{}: {}", source_, what)
                            : fmt::format("{}: {}: {}", source_, where, what),
              "the file is damaged: save the model again");
}

}  // namespace fmd::internal
