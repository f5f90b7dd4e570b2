#include "fmd/data/task.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

// Position of a text among the classes: as it stands, or as an equal number ("1" and
// "1.0").
std::int32_t class_of(const std::string& text, const std::vector<std::string>& classes) {
  const auto at = std::find(classes.begin(), classes.end(), text);
  if (at != classes.end()) return static_cast<std::int32_t>(at - classes.begin());
  const std::string canonical = canonical_text(text);
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (canonical_text(classes[i]) == canonical) return static_cast<std::int32_t>(i);
  return -1;
}

// Distinct values: numbers by value, else by text.
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

AttributeSpec parse_attribute(const std::string& text) {
  AttributeSpec spec{.name = text};
  const std::size_t colon = text.rfind(':');
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() ||
      !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(),
                   digit))
    return spec;  // a colon may stand in a column's name
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

std::vector<std::int32_t> labels(const Table& table, const Task& task) {
  const Column& column = table.column(task.label);
  const auto fail = [&](Index row) {
    throw Error(
        ErrorKind::bad_value,
        fmt::format("{}, column \"{}\": the label \"{}\" is none of {}", table.where(row),
                    task.label, shorten(column.text(row)), list_words(task.classes)));
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
