#include <cmath>
#include <set>

#include <fmt/format.h>

#include "data/number.h"
#include "data/task_rules.h"
#include "data/toml.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/data/csv.h"
#include "fmd/data/task.h"

namespace fmd {
namespace {

constexpr Index kLongest = 1 << 20;  // bytes of a task.toml

// Reads values of one file; every complaint names file, line and key.
class TomlReader {
 public:
  explicit TomlReader(std::string source) : source_(std::move(source)) {}

  [[noreturn]] void fail(const toml::node& node, std::string_view key,
                         const std::string& what, const std::string& hint = "") const {
    throw Error(ErrorKind::bad_task,
                fmt::format("{}, line {}, key \"{}\": {}", source_,
                            node.source().begin.line, shorten(key), what),
                hint);
  }

  // A text; a number is taken for its text, so that positive = 1 works like positive = "1".
  [[nodiscard]] std::string text(const toml::node& node, std::string_view key) const {
    if (const auto value = node.value_exact<std::string>()) {
      if (value->empty()) fail(node, key, "is empty");
      return *value;
    }
    if (const auto value = node.value_exact<std::int64_t>())
      return fmt::format("{}", *value);
    const auto value = node.value_exact<double>();
    if (!value || !std::isfinite(*value)) fail(node, key, "must be a text");
    return number_text(*value);
  }

  [[nodiscard]] std::vector<std::string> texts(const toml::node& node,
                                               std::string_view key) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) fail(node, key, "must be a list of texts, as in [\"a\", \"b\"]");
    std::vector<std::string> result;
    std::set<std::string> seen;
    for (const toml::node& element : *array) {
      result.push_back(text(element, key));
      if (!seen.insert(result.back()).second) {
        fail(element, key, fmt::format("\"{}\" stands twice", shorten(result.back())));
      }
    }
    return result;
  }

  [[nodiscard]] Index count(const toml::node& node, std::string_view key) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0) fail(node, key, "must be a whole number >= 0");
    return *value;
  }

  [[nodiscard]] std::vector<double> numbers(const toml::node& node,
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

  [[nodiscard]] const toml::table& table(const toml::node& node,
                                         std::string_view key) const {
    const toml::table* result = node.as_table();
    if (result == nullptr) fail(node, key, fmt::format("must be a table: [{}]", key));
    return *result;
  }

  [[noreturn]] void fail_unknown(const toml::node& node, std::string_view key,
                                 const std::vector<std::string>& keys) const {
    const std::string nearest = nearest_word(key, keys);
    fail(node, key, fmt::format("is unknown; the keys are {}", list_words(keys, 30)),
         nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
  }

 private:
  std::string source_;
};

std::string read_threshold(const TomlReader& reader, const toml::node& node) {
  const std::string text = reader.text(node, "threshold");
  const std::string_view number =
      std::string_view(text).substr(text.starts_with("rate=") ? 5 : 0);
  double value = 0;
  if (parse_number(number, value) != NumberText::number || !(value > 0 && value < 1)) {
    reader.fail(node, "threshold", fmt::format("{} is not between 0 and 1", shorten(text)),
                "threshold = 0.3, or threshold = \"rate=0.2\"");
  }
  return text;
}

AttributeSpec read_spec(const TomlReader& reader, const toml::table& table) {
  static const std::vector<std::string> kKeys = {
      "name",      "columns", "pairs",         "values",  "reference",
      "quantiles", "cuts",    "match_columns", "caliper", "reuse"};
  AttributeSpec spec;
  for (const auto& [toml_key, node] : table) {
    const std::string_view key = toml_key.str();
    if (key == "name") {
      spec.name = reader.text(node, key);
    } else if (key == "columns") {
      spec.columns = reader.texts(node, key);
    } else if (key == "pairs") {
      spec.pairs = reader.text(node, key);
      if (!is_pairs(spec.pairs)) reader.fail(node, key, fmt::format("must be {}", kPairs));
    } else if (key == "values") {
      spec.values = reader.texts(node, key);
      if (spec.values.size() < 2) reader.fail(node, key, "needs at least two values");
    } else if (key == "reference") {
      spec.reference = reader.text(node, key);
    } else if (key == "quantiles") {
      spec.quantiles = reader.count(node, key);
      if (!are_quantiles(spec.quantiles))
        reader.fail(node, key, "must be a whole number from 2 to 100");
    } else if (key == "cuts") {
      spec.cuts = reader.numbers(node, key);
      if (!are_cuts(spec.cuts)) reader.fail(node, key, "must ascend, at most 99 of them");
    } else if (key == "match_columns") {
      spec.match_columns = reader.texts(node, key);
    } else if (key == "caliper") {
      spec.caliper = reader.text(node, key);
    } else if (key == "reuse") {
      spec.reuse = reader.count(node, key);
    } else {
      reader.fail_unknown(node, key, kKeys);
    }
  }
  if (spec.name.empty()) reader.fail(table, "attributes", "an attribute has no name");
  if (spec.columns.empty()) spec.columns = {spec.name};
  const std::string wrong = range_contradiction(spec);
  if (!wrong.empty()) reader.fail(table, "attributes", wrong);
  return spec;
}

void read_attributes(const TomlReader& reader, const toml::node& node,
                     TaskOverrides& result) {
  const toml::array* array = node.as_array();
  const bool tables = array != nullptr && !array->empty() && array->get(0)->is_table();
  if (!tables) {
    result.attributes = reader.texts(node, "attributes");
    return;
  }
  std::set<std::string> seen;
  auto& specs = result.attribute_specs.emplace();
  for (const toml::node& element : *array) {
    specs.push_back(read_spec(reader, reader.table(element, "attributes")));
    if (!seen.insert(specs.back().name).second) {
      reader.fail(element, "attributes",
                  fmt::format("\"{}\" stands twice", shorten(specs.back().name)));
    }
  }
}

std::map<std::string, ColumnKind> read_types(const TomlReader& reader,
                                             const toml::table& table) {
  std::map<std::string, ColumnKind> types;
  for (const auto& [key, node] : table) {
    const std::string kind = reader.text(node, key.str());
    if (kind != "number" && kind != "category") {
      reader.fail(node, key.str(), "must be \"number\" or \"category\"");
    }
    types[std::string(key.str())] =
        kind == "number" ? ColumnKind::number : ColumnKind::category;
  }
  return types;
}

std::vector<Limit> read_limits(const TomlReader& reader, const toml::table& table) {
  std::vector<Limit> limits;
  for (const auto& [key, node] : table) {
    if (!node.is_number()) reader.fail(node, key.str(), "must be a number");
    try {
      limits.push_back(
          parse_limit(fmt::format("{}={}", key.str(), reader.text(node, key.str()))));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_option) throw;
      reader.fail(node, key.str(), error.what(), "[limits]\n\"co:sex\" = 0.02");
    }
  }
  return limits;
}

bool read_simple(const TomlReader& reader, std::string_view key, const toml::node& node,
                 TaskOverrides& result) {
  if (key == "label") {
    result.label = reader.text(node, key);
  } else if (key == "positive") {
    result.positive = reader.text(node, key);
  } else if (key == "favorable") {
    result.favorable = reader.text(node, key);
  } else if (key == "weight") {
    result.weight = reader.text(node, key);
  } else if (key == "id") {
    result.id = reader.text(node, key);
  } else if (key == "classes") {
    result.classes = reader.texts(node, key);
    if (result.classes->size() < 2) reader.fail(node, key, "needs at least two classes");
  } else if (key == "ignore") {
    result.ignore = reader.texts(node, key);
  } else if (key == "min_group") {
    result.min_group = reader.count(node, key);
  } else if (key == "min_label") {
    result.min_label = reader.count(node, key);
  } else {
    return false;
  }
  return true;
}

void read_key(const TomlReader& reader, std::string_view key, const toml::node& node,
              TaskOverrides& result) {
  static const std::vector<std::string> kKeys = {
      "label",  "positive", "classes",   "favorable", "threshold", "weight",     "id",
      "ignore", "unseen",   "min_group", "min_label", "types",     "attributes", "limits"};
  if (read_simple(reader, key, node, result)) return;
  if (key == "threshold") {
    result.threshold = read_threshold(reader, node);
  } else if (key == "unseen") {
    result.unseen = reader.text(node, key);
    if (*result.unseen != "error" && *result.unseen != "bucket") {
      reader.fail(node, key, "must be \"error\" or \"bucket\"");
    }
  } else if (key == "types") {
    result.types = read_types(reader, reader.table(node, key));
  } else if (key == "attributes") {
    read_attributes(reader, node, result);
  } else if (key == "limits") {
    result.limits = read_limits(reader, reader.table(node, key));
  } else {
    reader.fail_unknown(node, key, kKeys);
  }
}

}  // namespace

TaskOverrides parse_task(std::string_view text, const std::string& source) {
  toml::table root;
  try {
    root = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::bad_task,
                fmt::format("{}, line {}: {}", source, error.source().begin.line,
                            error.description()));
  } catch (const std::logic_error&) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("{}: a name begins with a sign that cannot stand there", source),
        "names are letters, digits, _ and -, all others need quotes: [\"my table\"]");
  }
  const TomlReader reader(source);
  TaskOverrides result;
  for (const auto& [key, node] : root) read_key(reader, key.str(), node, result);
  return result;
}

TaskOverrides read_task(const std::filesystem::path& path) {
  return parse_task(read_text(path, kLongest), path.string());
}

}  // namespace fmd
