#include "fmd/data/task.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/beside.h"
#include "core/check.h"
#include "data/json_reader.h"
#include "data/number.h"
#include "data/task/input_reader.h"
#include "data/task/rules.h"
#include "data/task/toml_reader.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/data/csv.h"

namespace fmd {
namespace {

// The position of a text among the classes, or of an equal number ("1" and "1.0").
std::int32_t class_of(const std::string& text, const std::vector<std::string>& classes) {
  const auto at = std::find(classes.begin(), classes.end(), text);
  if (at != classes.end()) return static_cast<std::int32_t>(at - classes.begin());
  const std::string canonical = canonical_text(text);
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (canonical_text(classes[i]) == canonical) return static_cast<std::int32_t>(i);
  return -1;
}

// Distinct values, sorted: numbers by value, texts by text.
std::vector<std::string> sorted_values(const Column& column) {
  std::vector<std::string> values;
  if (column.kind == ColumnKind::number) {
    std::set<double> numbers;
    for (const double number : column.numbers)
      if (!std::isnan(number)) numbers.insert(number == 0 ? 0.0 : number);
    for (const double number : numbers) values.push_back(number_text(number));
    return values;
  }
  std::vector<bool> used(column.levels.size(), false);
  for (const std::int32_t code : column.codes)
    if (code >= 0) used[to_size(code)] = true;
  bool all_numbers = true;
  double number = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    values.push_back(column.levels[i]);
    all_numbers = all_numbers && parse_number(values.back(), number) == NumberText::number;
  }
  std::sort(values.begin(), values.end());
  if (all_numbers) {
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
      double x = 0;
      double y = 0;
      static_cast<void>(parse_number(a, x));
      static_cast<void>(parse_number(b, y));
      return x < y;
    });
  }
  return values;
}

void set_threshold(Task& task, const std::string& text) {
  const bool rate = text.starts_with("rate=");
  double value = 0;
  const bool number = parse_number(std::string_view(text).substr(rate ? 5 : 0), value) ==
                      NumberText::number;
  if (!number || !(value > 0 && value < 1)) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("threshold is \"{}\", must be a number between 0 and 1 or rate=R",
                    shorten(text)),
        "0.3: positive from p = 0.3 on; rate=0.2: 20 % of the training rows are answered "
        "positive");
  }
  task.threshold = rate ? 0.5 : value;
  task.rate = rate ? std::optional<double>(value) : std::nullopt;
}

void set_positive(Task& task, const std::string& positive) {
  if (task.classes.empty()) return;  // label_classes() gets it when the table is read
  const auto at = std::find(task.classes.begin(), task.classes.end(), positive);
  if (at == task.classes.end()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("positive is \"{}\", must be one of {}", shorten(positive),
                            list_words(task.classes)));
  }
  if (!task.binary()) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("positive is for two classes; there are {}", task.classes.size()));
  }
  if (at == task.classes.begin()) std::swap(task.classes[0], task.classes[1]);
}

bool is_rich(const AttributeSpec& spec) {
  AttributeSpec plain{.name = spec.name, .columns = spec.columns};
  return spec != plain || (!spec.columns.empty() && spec.columns != std::vector{spec.name});
}

// The list that the overrides give. What is already known of an attribute stays, unless
// they say more than its name.
std::vector<AttributeSpec> new_attributes(const Task& task,
                                          const TaskOverrides& overrides) {
  std::vector<AttributeSpec> result;
  const auto add = [&](AttributeSpec spec) {
    if (spec.columns.empty() && spec.one_hot.empty()) spec.columns = {spec.name};
    for (AttributeSpec& known : result) {
      if (known.name != spec.name) continue;
      if (is_rich(known) && is_rich(spec) && known != spec) {
        throw Error(
            ErrorKind::bad_option,
            fmt::format("attribute \"{}\" is asked for in two ways", shorten(spec.name)),
            "name it once");
      }
      if (!is_rich(known)) known = std::move(spec);
      return;
    }
    const AttributeSpec* known = task.find(spec.name);
    result.push_back(known != nullptr && !is_rich(spec) ? *known : std::move(spec));
  };
  if (overrides.attribute_specs)
    for (const AttributeSpec& spec : *overrides.attribute_specs) add(spec);
  if (overrides.attributes)
    for (const std::string& name : *overrides.attributes) add(parse_attribute(name));
  if (overrides.one_hot)
    for (const std::string& text : *overrides.one_hot) add(parse_one_hot(text));
  return result;
}

void set_pairs(Task& task, const std::string& pairs) {
  (void)pairs_of({.name = "", .pairs = pairs});
  for (AttributeSpec& spec : task.attributes) {
    spec.pairs = pairs;
    spec.stored_in = {};
    if (is_match(spec)) continue;
    spec.match_columns.clear();
    spec.caliper.clear();
    spec.reuse = AttributeSpec{}.reuse;
  }
}

void set_unseen(Task& task, const std::string& unseen) {
  if (unseen != "error" && unseen != "bucket") {
    throw Error(ErrorKind::bad_option,
                fmt::format("unseen is \"{}\", must be error or bucket", shorten(unseen)));
  }
  task.unseen = unseen == "error" ? Unseen::error : Unseen::bucket;
}

void set_match(Task& task, const TaskOverrides& overrides) {
  for (AttributeSpec& spec : task.attributes) {
    if (overrides.match_columns) spec.match_columns = *overrides.match_columns;
    if (overrides.caliper) spec.caliper = *overrides.caliper;
    if (overrides.reuse) spec.reuse = *overrides.reuse;
  }
}

constexpr Index kLongestTask = 1 << 20;  // bytes of a task.toml

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
      "name", "columns",       "pairs",   "values", "reference", "quantiles",
      "cuts", "match_columns", "caliper", "reuse",  "one_hot"};
  AttributeSpec spec;
  for (const auto& [toml_key, node] : table) {
    const std::string_view key = toml_key.str();
    if (key == "name") {
      spec.name = reader.text(node, key);
    } else if (key == "columns") {
      spec.columns = reader.texts(node, key);
    } else if (key == "pairs") {
      spec.pairs = reader.text(node, key);
      if (!parse_pairs(spec.pairs))
        reader.fail(node, key, fmt::format("must be {}", kPairs));
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
    } else if (key == "one_hot") {
      spec.one_hot = reader.texts(node, key);
      if (spec.one_hot.empty()) reader.fail(node, key, "names no column");
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
  if (spec.columns.empty() && spec.one_hot.empty()) spec.columns = {spec.name};
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
                  fmt::format("\"{}\" appears twice", shorten(specs.back().name)));
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
  } else if (key == "missing") {
    result.missing = reader.texts(node, key);
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
      "label", "positive",   "classes", "favorable", "threshold", "weight",
      "id",    "ignore",     "missing", "unseen",    "min_group", "min_label",
      "types", "attributes", "limits",  "inputs"};
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
  } else if (key == "inputs") {
    result.inputs = read_inputs(reader, node);
  } else {
    reader.fail_unknown(node, key, kKeys);
  }
}

const char* unseen_text(Unseen unseen) {
  if (unseen == Unseen::error) return "error";
  return unseen == Unseen::bucket ? "bucket" : "counted";
}

nlohmann::json to_object(const AttributeSpec& spec) {
  nlohmann::json object = {{"name", spec.name},
                           {"columns", spec.columns},
                           {"pairs", spec.pairs},
                           {"values", spec.values},
                           {"reference", spec.reference}};
  if (spec.quantiles > 0) object["quantiles"] = spec.quantiles;
  if (!spec.cuts.empty()) object["cuts"] = spec.cuts;
  if (!spec.one_hot.empty()) object["one_hot"] = spec.one_hot;
  if (is_match(spec)) {
    object["match_columns"] = spec.match_columns;
    object["caliper"] = spec.caliper;
    object["reuse"] = spec.reuse;
  }
  return object;
}

AttributeSpec read_attribute_spec(const JsonReader& object) {
  AttributeSpec spec;
  spec.name = object.text("name");
  spec.columns = object.texts("columns");
  spec.pairs = object.text("pairs");
  spec.values = object.texts("values");
  spec.reference = object.text("reference");
  if (object.has("quantiles")) spec.quantiles = object.count("quantiles");
  if (object.has("cuts")) spec.cuts = object.numbers("cuts");
  if (object.has("one_hot")) spec.one_hot = object.texts("one_hot");
  if (object.has("match_columns")) spec.match_columns = object.texts("match_columns");
  if (object.has("caliper")) spec.caliper = object.text("caliper");
  if (object.has("reuse")) spec.reuse = object.count("reuse");
  return spec;
}

Limit read_limit(const JsonReader& object) {
  Limit limit;
  limit.measure = object.text("measure");
  limit.attribute = object.text("attribute");
  limit.value = object.number("value");
  if (limit.measure.empty()) object.fail("\"measure\" is empty");
  if (limit.value < 0) object.fail("\"value\" must be >= 0");
  return limit;
}

}  // namespace

int Task::favorable_class() const {
  if (!favorable.empty()) return class_of(favorable, classes);
  return binary() ? 1 : -1;
}

const AttributeSpec* Task::find(const std::string& attribute) const {
  const auto at =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const AttributeSpec& spec) { return spec.name == attribute; });
  return at == attributes.end() ? nullptr : &*at;
}

AttributeSpec parse_one_hot(const std::string& text) {
  AttributeSpec spec;
  const std::size_t equals = text.find('=');
  spec.name = text.substr(0, equals);
  for (std::size_t at = equals; at != std::string::npos && at + 1 < text.size();) {
    const std::size_t end = std::min(text.find(',', at + 1), text.size());
    if (end > at + 1) spec.one_hot.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  if (spec.name.empty() || spec.one_hot.empty()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("one-hot \"{}\": must be NAME=COLUMNS", shorten(text)),
                "--one-hot race=race_*, or --one-hot race=race_a,race_b");
  }
  return spec;
}

AttributeSpec parse_attribute(const std::string& text) {
  if (text.empty()) {
    throw Error(ErrorKind::bad_option, "an attribute has no name",
                "name its column: --attribute COLUMN");
  }
  AttributeSpec spec{.name = text};
  const std::size_t colon = text.rfind(':');
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() ||
      !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(),
                   digit))
    return spec;  // a column's name may have a colon
  double number = 0;
  const bool known =
      parse_number(std::string_view(text).substr(colon + 1), number) == NumberText::number;
  if (!known || !(number >= 2 && number <= 100)) {
    throw Error(ErrorKind::bad_option,
                fmt::format("attribute \"{}\": quantiles are from 2 to 100", shorten(text)),
                "write COLUMN:4 for four quantiles of a column of numbers");
  }
  spec.name = text.substr(0, colon);
  spec.quantiles = static_cast<Index>(number);
  return spec;
}

PairsText pairs_of(const AttributeSpec& spec) {
  if (std::optional<PairsText> pairs = parse_pairs(spec.pairs)) return *pairs;
  throw Error(ErrorKind::bad_option,
              fmt::format("pairs is \"{}\", must be {}", shorten(spec.pairs), kPairs));
}

bool is_match(const AttributeSpec& spec) {
  const std::optional<PairsText> pairs = parse_pairs(spec.pairs);
  return pairs && pairs->kind == PairKind::match;
}

std::string match_by(const AttributeSpec& spec) {
  if (is_match(spec) && !pairs_of(spec).detail.empty()) return pairs_of(spec).detail;
  return spec.match_columns.empty() ? "mahalanobis" : "overlap";
}

std::filesystem::path pairs_file(const AttributeSpec& spec) {
  const std::string name = spec.pairs.substr(std::string_view("given:").size());
  if (spec.stored_in.file.empty()) return name;
  return beside(spec.stored_in.file, name, ErrorKind::bad_task,
                "name the file of pairs yourself: --pairs given:FILE");
}

Caliper parse_caliper(const std::string& text) {
  if (text.empty()) return {};
  Caliper caliper;
  std::string_view number = text;
  caliper.deviations = number.ends_with("sd");
  if (caliper.deviations) number.remove_suffix(2);
  if (parse_number(number, caliper.value) != NumberText::number || caliper.value < 0) {
    throw Error(ErrorKind::bad_option,
                fmt::format("caliper is \"{}\", must be a distance >= 0", shorten(text)),
                "0.5: no pair further apart; 1sd: not further than one standard deviation "
                "above the mean nearest distance");
  }
  return caliper;
}

Limit parse_limit(const std::string& text) {
  const auto fail = [&text](const char* what) {
    throw Error(
        ErrorKind::bad_option, fmt::format("limit \"{}\": {}", shorten(text), what),
        "write MEASURE=VALUE or MEASURE:ATTRIBUTE=VALUE, as in co=0.02 or co:sex=0.02");
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) fail("has no value");
  Limit limit;
  const std::string name = text.substr(0, equals);
  const std::size_t colon = name.find(':');
  limit.measure = name.substr(0, colon);
  if (limit.measure.empty()) fail("names no measure");
  if (colon != std::string::npos) {
    limit.attribute = name.substr(colon + 1);
    if (limit.attribute.empty()) fail("names no attribute after the colon");
  }
  if (parse_number(std::string_view(text).substr(equals + 1), limit.value) !=
      NumberText::number) {
    fail("its value is not a number");
  }
  if (limit.value < 0) fail("its value is negative");
  return limit;
}

std::string to_string(const Limit& limit) {
  const std::string attribute = limit.attribute.empty() ? "" : ":" + limit.attribute;
  return limit.measure + attribute + "=" + number_text(limit.value);
}

TaskOverrides parse_task(std::string_view text, const std::string& source) {
  toml::table root;
  try {
    root = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    const std::string what(error.description());
    throw Error(ErrorKind::bad_task,
                fmt::format("{}, line {}: {}", source, error.source().begin.line, what),
                what.find("saw '.'") != std::string::npos
                    ? "numbers begin with a digit: 0.8, not .8"
                    : "");
  } catch (const std::logic_error&) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("{}: a name begins with a character that is not allowed there", source),
        "names are letters, digits, _ and -, all others need quotes: [\"my table\"]");
  }
  const TomlReader reader(source);
  TaskOverrides result;
  for (const auto& [key, node] : root) read_key(reader, key.str(), node, result);
  return result;
}

TaskOverrides read_task(const std::filesystem::path& path) {
  TaskOverrides task = parse_task(read_text(path, kLongestTask), path.string());
  if (task.inputs)
    for (InputSpec& spec : *task.inputs)
      if (!spec.tensor.empty()) spec.tensor = (path.parent_path() / spec.tensor).string();
  // Paths in it are relative to its folder.
  if (task.attribute_specs)
    for (AttributeSpec& spec : *task.attribute_specs)
      if (spec.pairs.starts_with("given:"))
        spec.pairs = "given:" + (path.parent_path() / pairs_file(spec)).string();
  return task;
}

Task merge(Task task, const TaskOverrides& overrides) {
  if (overrides.label) task.label = *overrides.label;
  if (overrides.classes) task.classes = *overrides.classes;
  if (overrides.positive) set_positive(task, *overrides.positive);
  if (overrides.favorable) task.favorable = *overrides.favorable;
  if (overrides.threshold) set_threshold(task, *overrides.threshold);
  if (overrides.weight) task.weight = *overrides.weight;
  if (overrides.id) task.id = *overrides.id;
  if (overrides.attributes || overrides.attribute_specs || overrides.one_hot)
    task.attributes = new_attributes(task, overrides);
  if (overrides.pairs) set_pairs(task, *overrides.pairs);
  set_match(task, overrides);
  if (overrides.ignore) task.ignore = *overrides.ignore;
  if (overrides.unseen) set_unseen(task, *overrides.unseen);
  if (overrides.types)
    for (const auto& [name, kind] : *overrides.types) task.types[name] = kind;
  if (overrides.category)
    for (const std::string& name : *overrides.category)
      task.types[name] = ColumnKind::category;
  if (overrides.missing) task.missing = *overrides.missing;
  if (overrides.limits) task.limits = *overrides.limits;
  if (overrides.inputs) task.inputs = *overrides.inputs;
  if (overrides.min_group) {
    require_option(*overrides.min_group >= 0, "task", "min_group", *overrides.min_group,
                   ">= 0");
    task.min_group = *overrides.min_group;
  }
  if (overrides.min_label) task.min_label = *overrides.min_label;
  const std::string wrong = contradiction(task);
  if (!wrong.empty()) throw Error(ErrorKind::bad_task, "task: " + wrong);
  return task;
}

std::string to_json(const Task& task) {
  nlohmann::json attributes = nlohmann::json::array();
  for (const AttributeSpec& spec : task.attributes) attributes.push_back(to_object(spec));
  nlohmann::json types = nlohmann::json::object();
  for (const auto& [name, kind] : task.types) types[name] = kind_text(kind);
  nlohmann::json limits = nlohmann::json::array();
  for (const Limit& limit : task.limits) {
    limits.push_back({{"measure", limit.measure},
                      {"attribute", limit.attribute},
                      {"value", limit.value}});
  }
  nlohmann::json object = {{"label", task.label},
                           {"classes", task.classes},
                           {"favorable", task.favorable},
                           {"threshold", task.threshold},
                           {"attributes", attributes},
                           {"weight", task.weight},
                           {"id", task.id},
                           {"ignore", task.ignore},
                           {"types", types},
                           {"unseen", unseen_text(task.unseen)},
                           {"limits", limits},
                           {"min_group", task.min_group},
                           {"min_label", task.min_label}};
  if (task.rate) object["rate"] = *task.rate;
  if (!task.missing.empty()) object["missing"] = task.missing;
  for (const InputSpec& spec : task.inputs) object["inputs"].push_back(to_object(spec));
  return json_text(object);
}

Task task_from_json(const std::string& text, const std::string& source) {
  const nlohmann::json parsed = JsonReader::parse(text, source);
  const JsonReader object(parsed, source);
  Task task;
  task.label = object.text("label");
  task.classes = object.texts("classes");
  task.favorable = object.text("favorable");
  task.threshold = object.number("threshold");
  if (object.has("rate")) task.rate = object.number("rate");
  for (const JsonReader& element : object.objects("attributes"))
    task.attributes.push_back(read_attribute_spec(element));
  for (AttributeSpec& spec : task.attributes) spec.stored_in.file = source;
  task.weight = object.text("weight");
  task.id = object.text("id");
  task.ignore = object.texts("ignore");
  task.types = object.kinds("types");
  if (object.has("missing")) task.missing = object.texts("missing");
  const std::string unseen = object.text("unseen");
  if (unseen != "error" && unseen != "bucket" && unseen != "counted")
    object.fail("\"unseen\" must be error or bucket");
  task.unseen = unseen == "error"    ? Unseen::error
                : unseen == "bucket" ? Unseen::bucket
                                     : Unseen::counted;
  for (const JsonReader& element : object.objects("limits"))
    task.limits.push_back(read_limit(element));
  if (object.has("inputs"))
    for (const JsonReader& element : object.objects("inputs"))
      task.inputs.push_back(read_input_spec(element));
  task.min_group = object.count("min_group");
  task.min_label = object.count("min_label");
  const std::string wrong = contradiction(task);
  if (!wrong.empty()) object.fail(wrong);
  return task;
}

std::vector<std::int32_t> labels(const Table& table, const Task& task) {
  const Column& column = table.column(task.label);
  const auto fail = [&](Index row) {
    throw Error(ErrorKind::bad_value,
                fmt::format("{}, column \"{}\": the label \"{}\" is not one of {}",
                            table.where(row), task.label, shorten(column.text(row)),
                            list_words(task.classes)));
  };
  std::vector<std::int32_t> of_level;
  for (const std::string& level : column.levels)
    of_level.push_back(class_of(level, task.classes));
  std::map<double, std::int32_t> of_number;
  for (std::size_t i = 0; i < task.classes.size(); ++i) {
    double number = 0;
    if (parse_number(task.classes[i], number) == NumberText::number)
      of_number.emplace(number, static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> result;
  result.reserve(to_size(column.rows()));
  for (Index row = 0; row < column.rows(); ++row) {
    std::int32_t label = -1;
    if (column.kind == ColumnKind::category) {
      const std::int32_t code = column.codes[to_size(row)];
      if (code >= 0 && (label = of_level[to_size(code)]) < 0) fail(row);
    } else if (const double number = column.numbers[to_size(row)]; !std::isnan(number)) {
      const auto found = of_number.find(number);
      if (found == of_number.end()) fail(row);
      label = found->second;
    }
    result.push_back(label);
  }
  return result;
}

std::vector<std::string> label_classes(const Table& table, const std::string& label,
                                       const std::string& positive) {
  std::vector<std::string> classes = sorted_values(table.column(label));
  const auto where = fmt::format("{}, label \"{}\"", table.source, label);
  if (classes.empty()) throw Error(ErrorKind::bad_data, where + ": no row has a label");
  if (classes.size() < 2) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: every row has the class \"{}\", two are needed", where,
                            shorten(classes[0])));
  }
  if (positive.empty()) return classes;
  const std::int32_t at = class_of(positive, classes);
  if (at < 0) {
    throw Error(ErrorKind::bad_option,
                fmt::format("{}: positive is \"{}\", must be one of {}", where,
                            shorten(positive), list_words(classes)));
  }
  if (classes.size() > 2) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("{}: has {} classes; positive is for two", where, classes.size()),
        "leave positive out");
  }
  if (at == 0) std::swap(classes[0], classes[1]);
  return classes;
}

}  // namespace fmd
