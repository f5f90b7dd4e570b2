#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/pipeline/scan.h"

namespace fmd {

SuspectSurvey::SuspectSurvey(const Task& task, ScanOptions options,
                             std::vector<std::string> others)
    : task_(task), options_(std::move(options)), others_(std::move(others)) {}

void SuspectSurvey::begin(const Table& block) {
  begun_ = true;
  std::vector<std::string> names = options_.columns;
  for (const std::string& name : names) {
    if (name == task_.label) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("scan: \"{}\" is the label", shorten(name)),
                  "name columns that tell people apart");
    }
  }
  const auto none = [&](const std::string& name) {
    return name == task_.label || name == task_.weight || name == task_.id ||
           std::find(others_.begin(), others_.end(), name) != others_.end();
  };
  if (names.empty())
    for (const Column& column : block.columns)
      if (!none(column.name)) names.push_back(column.name);
  for (const std::string& name : names) {
    const auto twice = [&](const Seen& seen) { return seen.name == name; };
    if (std::any_of(columns_.begin(), columns_.end(), twice)) continue;
    Seen seen;
    seen.name = name;
    seen.kind = block.column(name).kind;
    AttributeSpec spec{.name = name};
    if (seen.kind == ColumnKind::number) spec.quantiles = options_.quantiles;
    seen.survey.emplace_back(spec);
    columns_.push_back(std::move(seen));
  }
}

void SuspectSurvey::add(const Table& block) {
  if (!begun_) begin(block);
  for (Seen& seen : columns_) {
    const Column& column = block.column(seen.name);
    if (column.kind == ColumnKind::number) {
      for (const double number : column.numbers)
        if (!std::isnan(number) &&
            static_cast<Index>(seen.numbers.size()) <= options_.most_numbers)
          seen.numbers.insert(number);
    }
    // Texts without rows (of a table that was cut) are no values: rows tell.
    std::vector<bool> used(column.levels.size(), false);
    for (const std::int32_t code : column.codes)
      if (code >= 0) used[to_size(code)] = true;
    for (std::size_t level = 0; level < used.size(); ++level)
      if (used[level] && static_cast<Index>(seen.texts.size()) <= 256)
        seen.texts.insert(column.levels[level]);
    seen.survey[0].add(block);
  }
}

namespace {

// Few different numbers are each a value of their own, and can be flipped between.
Attribute few_numbers(const Attribute& ranges, const std::set<double>& numbers) {
  Attribute attribute;
  attribute.name = ranges.name;
  attribute.columns = ranges.columns;
  attribute.missing = ranges.missing;
  for (const double number : numbers) {
    attribute.values.push_back(number_text(number));
    attribute.cells.push_back({{.text = number_text(number), .number = number}});
  }
  attribute.groups = attribute.values;
  if (attribute.missing > 0) attribute.groups.emplace_back(kMissingGroup);
  return attribute;
}

}  // namespace

SuspectSurvey::Suspects SuspectSurvey::finish() const {
  Suspects result;
  for (const Seen& seen : columns_) {
    const auto leave_out = [&](const std::string& why) {
      result.left_out.push_back({seen.name, why});
    };
    const std::size_t values =
        seen.kind == ColumnKind::number ? seen.numbers.size() : seen.texts.size();
    const bool named = !options_.columns.empty();
    if (values < 2) {
      leave_out(values == 0 ? "no value" : "one value");
    } else if (seen.texts.size() > 256) {
      leave_out("more than 256 values");
    } else if (!named && static_cast<Index>(seen.texts.size()) > options_.most_values) {
      leave_out(fmt::format("{} values", seen.texts.size()));
    } else {
      const Attribute found = seen.survey[0].finish();
      const bool few = seen.kind == ColumnKind::number &&
                       static_cast<Index>(values) <= options_.most_numbers;
      result.attributes.push_back(few ? few_numbers(found, seen.numbers) : found);
    }
  }
  return result;
}

}  // namespace fmd
