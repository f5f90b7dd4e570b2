#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "data/encode_column.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {

ColumnReader::ColumnReader(const EncodedColumn& fitted, const Table& table)
    : ColumnCoder(fitted), table_(table), column_(table.column(fitted.name)) {
  if (fitted.kind != ColumnKind::category || column_.kind != ColumnKind::category) return;
  for (const std::string& level : column_.levels) of_code_.push_back(of_level(level));
  of_code_.push_back(of_level(""));
}

Entry ColumnCoder::of_level(std::string_view text) const {
  const std::vector<std::string>& levels = fitted_.levels;
  const auto first = static_cast<std::int32_t>(fitted_.first);
  const auto at = std::lower_bound(levels.begin(), levels.end(), text);
  if (at == levels.end() || *at != text) {
    if (!fitted_.bucket) return {.column = Entry::kUnknown};
    return {.column = first + static_cast<std::int32_t>(levels.size()), .value = 1};
  }
  const auto index = static_cast<std::int32_t>(at - levels.begin());
  if (!one_feature(fitted_)) return {.column = first + index, .value = 1};
  return index == 0 ? Entry{} : Entry{.column = first, .value = 1};
}

// Missing (NaN) counts as the mean; where training had missing ones, that is told by a
// feature.
Entry ColumnCoder::of_number(double number) const {
  const auto first = static_cast<std::int32_t>(fitted_.first);
  if (std::isnan(number)) {
    if (fitted_.missing == 0) return {};
    return {.column = first + 1, .value = 1};
  }
  const auto value = static_cast<float>((number - fitted_.mean) / fitted_.scale);
  if (!std::isfinite(value)) return {.column = Entry::kUnknown};
  return {.column = first, .value = value};
}

Entry ColumnReader::read_as_number(Index row) const {
  double number = std::nan("");
  if (column_.kind == ColumnKind::number) {
    number = column_.numbers[to_size(row)];
  } else if (const std::int32_t code = column_.codes[to_size(row)]; code >= 0) {
    const std::string& text = column_.levels[to_size(code)];
    if (parse_number(text, number) != NumberText::number) {
      fail_number(table_.where(row), text, false);
    }
  }
  const Entry entry = of_number(number);
  if (entry.column == Entry::kUnknown)
    fail_number(table_.where(row), number_text(number), true);
  return entry;
}

Entry ColumnReader::read(Index row) const {
  if (fitted_.kind == ColumnKind::number) return read_as_number(row);
  Entry entry;
  if (column_.kind == ColumnKind::number) {
    entry = of_level(column_.text(row));
  } else {
    const std::int32_t code = column_.codes[to_size(row)];
    entry = code < 0 ? of_code_.back() : of_code_[to_size(code)];
  }
  if (entry.column == Entry::kUnknown) fail_unknown(table_.where(row), column_.text(row));
  return entry;
}

Entry ColumnCoder::read(const Cell& cell, const std::string& attribute) const {
  const std::string where = fmt::format("attribute \"{}\"", attribute);
  if (fitted_.kind == ColumnKind::category) {
    const Entry entry = of_level(cell.text);
    if (entry.column == Entry::kUnknown) fail_unknown(where, cell.text);
    return entry;
  }
  double number = 0;
  const bool is_number = parse_number(cell.text, number) == NumberText::number;
  const Entry entry = is_number ? of_number(number) : Entry{.column = Entry::kUnknown};
  if (entry.column == Entry::kUnknown) fail_number(where, cell.text, is_number);
  return entry;
}

void ColumnCoder::fail_unknown(const std::string& where, const std::string& text) const {
  const std::string what =
      text.empty()
          ? "is missing; the model has seen no missing value here"
          : fmt::format("\"{}\" is none of the values that the model has seen ({})",
                        shorten(text), list_words(fitted_.levels));
  throw Error(
      ErrorKind::unknown_category,
      fmt::format("{}, column \"{}\": {}", where, fitted_.name, what),
      "correct the value or leave these rows out; a model trained with unseen = \"bucket\" "
      "takes them");
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

namespace {

class RowWriter {
 public:
  RowWriter(const Encoder& encoder, std::size_t rows) {
    const auto& columns = encoder.columns();
    only_ones_ = std::none_of(
        columns.begin(), columns.end(),
        [](const EncodedColumn& column) { return column.kind == ColumnKind::number; });
    rows_.cols = encoder.features();
    rows_.start.reserve(rows + 1);
    rows_.column.reserve(rows * columns.size());
    if (!only_ones_) rows_.value.reserve(rows * columns.size());
  }
  void add(Entry entry) {
    if (entry.column < 0) return;
    rows_.column.push_back(entry.column);
    if (!only_ones_) rows_.value.push_back(entry.value);
  }
  void end_row() { rows_.start.push_back(std::ssize(rows_.column)); }
  [[nodiscard]] CsrRows take() { return std::move(rows_); }

 private:
  CsrRows rows_;
  bool only_ones_ = false;
};

std::vector<ColumnReader> make_readers(const Encoder& encoder, const Table& table) {
  std::vector<ColumnReader> readers;
  for (const EncodedColumn& column : encoder.columns()) readers.emplace_back(column, table);
  return readers;
}

}  // namespace

CsrRows Encoder::encode(const Table& table, std::span<const Index> rows) const {
  const std::vector<ColumnReader> readers = make_readers(*this, table);
  const std::size_t count = rows.empty() ? to_size(table.rows()) : rows.size();
  RowWriter writer(*this, count);
  for_rows(rows, table.rows(), [&](Index row) {
    for (const ColumnReader& reader : readers) writer.add(reader.read(row));
    writer.end_row();
  });
  return writer.take();
}

FeaturePatch Encoder::patch(const Attribute& attribute,
                            std::span<const std::int32_t> to) const {
  FeaturePatch patch;
  patch.entries.resize(attribute.values.size());
  std::vector<bool> used(attribute.values.size(), false);
  for (const std::int32_t value : to) {
    if (value < 0 || value >= std::ssize(attribute.values)) {
      throw Error(ErrorKind::bad_shape,
                  fmt::format("attribute \"{}\" has {} values, no value {}", attribute.name,
                              used.size(), value));
    }
    used[to_size(value)] = true;
  }
  for (const EncodedColumn& column : columns_) {
    const auto& names = attribute.columns;
    const auto which = std::find(names.begin(), names.end(), column.name) - names.begin();
    if (which == std::ssize(names)) continue;
    patch.columns.emplace_back(column.first, column.first + column.features);
    const ColumnCoder coder(column);
    for (std::size_t v = 0; v < used.size(); ++v) {
      if (!used[v]) continue;
      const Entry entry = coder.read(attribute.cells[v][to_size(which)], attribute.name);
      if (entry.column >= 0) patch.entries[v].emplace_back(entry.column, entry.value);
    }
  }
  return patch;
}

}  // namespace fmd
