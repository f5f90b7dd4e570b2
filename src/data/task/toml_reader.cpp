#include "data/task/toml_reader.h"

#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {

std::string TomlReader::text(const toml::node& node, std::string_view key) const {
  if (const auto value = node.value_exact<std::string>()) {
    if (value->empty()) fail(node, key, "is empty");
    return *value;
  }
  if (const auto value = node.value_exact<std::int64_t>()) return fmt::format("{}", *value);
  const auto value = node.value_exact<double>();
  if (!value || !std::isfinite(*value)) fail(node, key, "must be a text");
  return number_text(*value);
}

std::vector<std::string> TomlReader::texts(const toml::node& node,
                                           std::string_view key) const {
  const toml::array* array = node.as_array();
  if (array == nullptr) fail(node, key, "must be a list of texts, as in [\"a\", \"b\"]");
  std::vector<std::string> result;
  std::set<std::string> seen;
  for (const toml::node& element : *array) {
    result.push_back(text(element, key));
    if (!seen.insert(result.back()).second) {
      fail(element, key, fmt::format("\"{}\" appears twice", shorten(result.back())));
    }
  }
  return result;
}

Index TomlReader::count(const toml::node& node, std::string_view key) const {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 0) fail(node, key, "must be a whole number >= 0");
  return *value;
}

std::vector<double> TomlReader::numbers(const toml::node& node,
                                        std::string_view key) const {
  const toml::array* array = node.as_array();
  if (array == nullptr) fail(node, key, "must be a list of numbers, as in [25, 45, 65]");
  std::vector<double> result;
  for (const toml::node& element : *array) {
    const auto value =
        element.is_number() ? element.value<double>() : std::optional<double>();
    if (!value || !std::isfinite(*value))
      fail(element, key, "must be a list of numbers, as in [25, 45, 65]");
    result.push_back(*value);
  }
  return result;
}

const toml::table& TomlReader::table(const toml::node& node, std::string_view key) const {
  const toml::table* result = node.as_table();
  if (result == nullptr) fail(node, key, fmt::format("must be a table: [{}]", key));
  return *result;
}

void TomlReader::fail(const toml::node& node, std::string_view key, const std::string& what,
                      const std::string& hint) const {
  throw Error(ErrorKind::bad_task,
              fmt::format("{}, line {}, key \"{}\": {}", source_, node.source().begin.line,
                          shorten(key), what),
              hint);
}

void TomlReader::fail_unknown(const toml::node& node, std::string_view key,
                              const std::vector<std::string>& keys) const {
  const std::string nearest = nearest_word(key, keys);
  fail(node, key, fmt::format("is unknown; the keys are {}", list_words(keys, 30)),
       nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
}

}  // namespace fmd::internal
