#include "data/encoder/column_coder.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {

ColumnReader::ColumnReader(const EncodedColumn& fitted, const Table& table)
    : ColumnCoder(fitted), table_(table), column_(table.column(fitted.name)) {
  if (fitted.kind != ColumnKind::category || column_.kind != ColumnKind::category) return;
  for (const std::string& level : column_.levels) of_code_.push_back(of_level(level));
  of_code_.push_back(of_level(""));
}

FeatureEntry ColumnCoder::of_level(std::string_view text) const {
  const std::vector<std::string>& levels = fitted_.levels;
  const auto first = static_cast<std::int32_t>(fitted_.first);
  const auto at = std::lower_bound(levels.begin(), levels.end(), text);
  if (at == levels.end() || *at != text) {
    if (fitted_.counted)
      return one_feature(fitted_)
                 ? FeatureEntry{.column = first, .value = static_cast<float>(fitted_.mean)}
                 : FeatureEntry{};
    if (!fitted_.bucket) return {.column = FeatureEntry::kUnknown};
    return {.column = first + static_cast<std::int32_t>(levels.size()), .value = 1};
  }
  const auto index = static_cast<std::int32_t>(at - levels.begin());
  if (!one_feature(fitted_)) return {.column = first + index, .value = 1};
  return index == 0 ? FeatureEntry{} : FeatureEntry{.column = first, .value = 1};
}

// Missing (NaN) counts as the mean. When training had missing numbers, a feature says so.
FeatureEntry ColumnCoder::of_number(double number) const {
  const auto first = static_cast<std::int32_t>(fitted_.first);
  if (std::isnan(number)) {
    if (fitted_.missing == 0) return {};
    return {.column = first + 1, .value = 1};
  }
  const auto value = static_cast<float>((number - fitted_.mean) / fitted_.scale);
  if (!std::isfinite(value)) return {.column = FeatureEntry::kUnknown};
  return {.column = first, .value = value};
}

FeatureEntry ColumnReader::read_as_number(Index row) const {
  double number = std::nan("");
  if (column_.kind == ColumnKind::number) {
    number = column_.numbers[to_size(row)];
  } else if (const std::int32_t code = column_.codes[to_size(row)]; code >= 0) {
    const std::string& text = column_.levels[to_size(code)];
    if (parse_number(text, number) != NumberText::number) {
      const std::optional<double> read = read_number(text, fitted_.notation);
      if (!read && !is_missing_word(text)) fail_number(table_.where(row), text, false);
      number = read.value_or(std::nan(""));
    }
  }
  const FeatureEntry entry = of_number(number);
  if (entry.column == FeatureEntry::kUnknown)
    fail_number(table_.where(row), number_text(number), true);
  return entry;
}

FeatureEntry ColumnReader::read(Index row) const {
  if (fitted_.kind == ColumnKind::number) return read_as_number(row);
  FeatureEntry entry;
  if (column_.kind == ColumnKind::number) {
    entry = of_level(column_.text(row));
  } else {
    const std::int32_t code = column_.codes[to_size(row)];
    entry = code < 0 ? of_code_.back() : of_code_[to_size(code)];
  }
  if (entry.column == FeatureEntry::kUnknown)
    fail_unknown(table_.where(row), column_.text(row));
  return entry;
}

FeatureEntry ColumnCoder::read(const Cell& cell, const std::string& attribute) const {
  const std::string where = fmt::format("attribute \"{}\"", attribute);
  if (fitted_.kind == ColumnKind::category) {
    const FeatureEntry entry = of_level(cell.text);
    if (entry.column == FeatureEntry::kUnknown) fail_unknown(where, cell.text);
    return entry;
  }
  double number = 0;
  const bool is_number = parse_number(cell.text, number) == NumberText::number;
  const FeatureEntry entry =
      is_number ? of_number(number) : FeatureEntry{.column = FeatureEntry::kUnknown};
  if (entry.column == FeatureEntry::kUnknown) fail_number(where, cell.text, is_number);
  return entry;
}

void ColumnCoder::fail_unknown(const std::string& where, const std::string& text) const {
  const std::string what =
      text.empty()
          ? "is missing; the model has seen no missing value here"
          : fmt::format("\"{}\" is not one of the values that the model has seen ({})",
                        shorten(text), list_words(fitted_.levels));
  throw Error(ErrorKind::unknown_category,
              fmt::format("{}, column \"{}\": {}", where, fitted_.name, what),
              "correct the value or leave these rows out; a model trained without "
              "--unseen error takes them");
}

void ColumnCoder::fail_number(const std::string& where, const std::string& text,
                              bool is_number) const {
  const std::string what =
      is_number
          ? fmt::format("{} is too far from the training rows (mean {}, deviation {})",
                        text, number_text(fitted_.mean), number_text(fitted_.scale))
          : fmt::format("\"{}\" is not a number", shorten(text));
  throw Error(ErrorKind::bad_value,
              fmt::format("{}, column \"{}\": {}", where, fitted_.name, what),
              "correct the cell, or leave it empty when the value is missing");
}

}  // namespace fmd::internal
