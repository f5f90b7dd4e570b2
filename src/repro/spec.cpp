#include "repro/spec.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/toml.h"
#include "fmd/core/error.h"

namespace fmd::repro {
namespace {

[[noreturn]] void fail(const std::string& source, const toml::node& node,
                       std::string_view key, const std::string& what) {
  throw Error(ErrorKind::bad_task, fmt::format("{}, line {}, key \"{}\": {}", source,
                                               node.source().begin.line, key, what));
}

std::vector<double> numbers(const std::string& source, const toml::node& node,
                            std::string_view key) {
  std::vector<double> values;
  const auto add = [&](const toml::node& element) {
    const auto value = element.value<double>();
    if (!value) fail(source, element, key, "must be a number");
    values.push_back(*value);
  };
  if (const toml::array* array = node.as_array())
    for (const toml::node& element : *array) add(element);
  else
    add(node);
  return values;
}

// The numbers, lists of numbers and words of a table. Tables in it are left to the caller.
Settings read_settings(const std::string& source, const toml::table& table) {
  Settings settings;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (node.is_table() || node.is_array_of_tables()) continue;
    if (const auto word = node.value_exact<std::string>()) {
      settings.words[name] = *word;
      continue;
    }
    const toml::array* array = node.as_array();
    if (array != nullptr && (array->empty() || (*array)[0].is_string())) continue;
    settings.numbers[name] = numbers(source, node, key.str());
  }
  return settings;
}

std::vector<std::string> words(const std::string& source, const toml::table& table,
                               const std::string& key) {
  std::vector<std::string> found;
  const toml::node* node = table.get(key);
  if (node == nullptr) return found;
  const toml::array* array = node->as_array();
  if (array == nullptr) fail(source, *node, key, "must be a list of texts");
  for (const toml::node& element : *array) {
    const auto word = element.value_exact<std::string>();
    if (!word) fail(source, element, key, "must be a list of texts");
    found.push_back(*word);
  }
  return found;
}

std::string word(const std::string& source, const toml::table& table,
                 const std::string& key) {
  const toml::node* node = table.get(key);
  const auto value =
      node == nullptr ? std::optional<std::string>() : node->value_exact<std::string>();
  if (!value) fail(source, node == nullptr ? table : *node, key, "must be a text");
  return *value;
}

std::map<std::string, std::vector<double>> figures(const std::string& source,
                                                   const toml::table& table,
                                                   const std::string& key,
                                                   std::size_t columns) {
  std::map<std::string, std::vector<double>> found;
  const toml::table* inner = table[key].as_table();
  if (inner == nullptr) return found;
  for (const auto& [id, node] : *inner) {
    std::vector<double> values = numbers(source, node, id.str());
    if (values.size() > columns) fail(source, node, id.str(), "more figures than columns");
    values.resize(columns, std::numeric_limits<double>::quiet_NaN());
    found.emplace(id.str(), std::move(values));
  }
  return found;
}

const toml::array& tables(const std::string& source, const toml::table& table,
                          const std::string& key) {
  const toml::array* array = table[key].as_array();
  if (array == nullptr || array->empty() || !array->is_homogeneous<toml::table>())
    fail(source, table, key, fmt::format("needs [[{}]]", key));
  return *array;
}

Spec read_spec(const toml::table& table, const std::string& source) {
  Spec spec;
  spec.name = word(source, table, "name");
  spec.title = word(source, table, "title");
  spec.source = word(source, table, "source");
  spec.experiment = word(source, table, "experiment");
  spec.columns = words(source, table, "columns");
  spec.notes = words(source, table, "notes");
  spec.settings = read_settings(source, table);
  if (const toml::table* quick = table["quick"].as_table())
    spec.quick = read_settings(source, *quick);
  // A spec without columns has figures alone.
  const toml::array none;
  for (const toml::node& node :
       spec.columns.empty() ? none : tables(source, table, "rows")) {
    const toml::table& row = *node.as_table();
    spec.rows.push_back({word(source, row, "id"), word(source, row, "method"),
                         word(source, row, "title"), read_settings(source, row)});
  }
  for (const toml::node& node : tables(source, table, "cases")) {
    const toml::table& c = *node.as_table();
    spec.cases.push_back({word(source, c, "name"), word(source, c, "title"),
                          read_settings(source, c),
                          figures(source, c, "paper", spec.columns.size()),
                          figures(source, c, "bar", spec.columns.size())});
  }
  return spec;
}

}  // namespace

bool Settings::has(const std::string& name) const {
  return numbers.contains(name) || words.contains(name);
}

const std::vector<double>& Settings::list(const std::string& name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end())
    throw Error(ErrorKind::bad_task, fmt::format("reproduce: \"{}\" is not set", name));
  return found->second;
}

double Settings::number(const std::string& name) const {
  const std::vector<double>& values = list(name);
  if (values.size() != 1)
    throw Error(ErrorKind::bad_task,
                fmt::format("reproduce: \"{}\" must be one number", name));
  return values[0];
}

Index Settings::count(const std::string& name) const {
  return static_cast<Index>(std::llround(number(name)));
}

std::string Settings::word(const std::string& name) const {
  const auto found = words.find(name);
  return found == words.end() ? "" : found->second;
}

Settings merged(Settings base, const Settings& over) {
  for (const auto& [name, values] : over.numbers) base.numbers[name] = values;
  for (const auto& [name, value] : over.words) base.words[name] = value;
  return base;
}

Settings Spec::all(const SpecCase& c, bool quick_run) const {
  Settings found = merged(settings, c.settings);
  return quick_run ? merged(std::move(found), quick) : found;
}

Spec parse_spec(std::string_view text, const std::string& source) {
  try {
    Spec spec = read_spec(toml::parse(text, source), source);
    spec.text = text;
    return spec;
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::bad_task,
                fmt::format("{}, line {}: {}", source, error.source().begin.line,
                            error.description()));
  }
}

}  // namespace fmd::repro
