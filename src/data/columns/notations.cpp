#include "data/columns/notations.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

// Levels that are words for "missing" have no rows any more.
void drop_words(Column& column) {
  std::vector<bool> word;
  for (const std::string& level : column.levels) word.push_back(is_missing_word(level));
  for (std::int32_t& code : column.codes) {
    if (code < 0 || !word[to_size(code)]) continue;
    code = -1;
    ++column.missing;
  }
}

void to_numbers(const Table& table, Notation notation, Column& column) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double missing = std::nan("");
  std::vector<double> values;
  for (const std::string& level : column.levels)
    values.push_back(is_missing_word(level) ? missing
                                            : read_number(level, notation).value_or(kNone));
  column.missing = 0;
  column.numbers.reserve(column.codes.size());
  for (std::size_t row = 0; row < column.codes.size(); ++row) {
    const std::int32_t code = column.codes[row];
    const double value = code < 0 ? missing : values[to_size(code)];
    if (value == kNone) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"{}\": \"{}\" does not fit the training rows "
                              "({})",
                              table.where(static_cast<Index>(row)), column.name,
                              shorten(column.levels[to_size(code)]), in_words(notation)),
                  "correct the cell, or leave it empty when the value is missing");
    }
    column.missing += std::isnan(value) ? 1 : 0;
    column.numbers.push_back(value);
  }
  column.kind = ColumnKind::number;
  column.codes = {};
  column.levels = {};
}

}  // namespace

CsvOptions as_texts(const CsvOptions& options) {
  CsvOptions texts = options;
  for (const auto& [column, notation] : options.notations)
    texts.types[column] = ColumnKind::category;
  return texts;
}

void apply_notation(const Table& table, Notation notation, Column& column) {
  if (column.kind != ColumnKind::category) return;
  if (notation == Notation::codes) {
    drop_words(column);
  } else {
    to_numbers(table, notation, column);
  }
  column.notation = notation;
}

void apply_notations(const CsvOptions& options, Table& table) {
  for (Column& column : table.columns) {
    const auto found = options.notations.find(column.name);
    if (found != options.notations.end()) apply_notation(table, found->second, column);
  }
}

}  // namespace fmd::internal
