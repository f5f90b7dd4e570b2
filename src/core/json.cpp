#include "core/json.h"

#include <algorithm>

#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

// The deepest level of lists and objects. Texts are skipped.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// The same value with texts and keys that are UTF-8.
nlohmann::ordered_json with_valid_texts(const nlohmann::ordered_json& value) {
  if (value.is_string()) return valid_utf8(value.get_ref<const std::string&>());
  if (value.is_array()) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& element : value) list.push_back(with_valid_texts(element));
    return list;
  }
  if (!value.is_object()) return value;
  auto object = nlohmann::ordered_json::object();
  for (const auto& item : value.items())
    object[valid_utf8(item.key())] = with_valid_texts(item.value());
  return object;
}

}  // namespace

void check_json_limits(std::string_view text, const std::string& source, ErrorKind kind) {
  if (std::ssize(text) > kMostJson) {
    throw Error(kind, fmt::format("{}: {} bytes of JSON, at most {} are read", source,
                                  text.size(), kMostJson));
  }
  const int deepest = nesting(text);
  if (deepest > kMostNesting) {
    throw Error(kind, fmt::format("{}: JSON is nested {} deep, at most {} is read", source,
                                  deepest, kMostNesting));
  }
}

std::string json_lines(const nlohmann::ordered_json& value) {
  try {
    return value.dump(2) + "\n";
  } catch (const nlohmann::ordered_json::type_error&) {  // a byte that is not UTF-8
    return with_valid_texts(value).dump(2) + "\n";
  }
}

}  // namespace fmd::internal
