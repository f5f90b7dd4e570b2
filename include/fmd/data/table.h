#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

enum class ColumnKind { number, category };

// A column: numbers (missing = NaN) or categories (codes into levels, missing = -1). Levels
// stand in order of first appearance.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::vector<double> numbers = {};
  std::vector<std::int32_t> codes = {};
  std::vector<std::string> levels = {};
  Index missing = 0;  // how many cells

  [[nodiscard]] Index rows() const;
  // The cell as text; "" when missing. Numbers in the shortest form that reads back the
  // same.
  [[nodiscard]] std::string text(Index row) const;
};

// Rows with typed columns, as read from a file. Missing values are kept as missing.
struct Table {
  std::string source;  // file name as given, for messages
  std::vector<Column> columns;
  std::vector<Index> line;  // of each row in the file, from 1; may be empty

  [[nodiscard]] Index rows() const;
  [[nodiscard]] const Column* find(std::string_view name) const;  // null when absent
  // Throws Error(missing_column) that names the file, the column and the nearest or all
  // names.
  [[nodiscard]] const Column& column(std::string_view name) const;
  // "repair.csv, line 17" (or "row 16" where lines are not known): the start of a message.
  [[nodiscard]] std::string where(Index row) const;
};

// The given rows, in the given order.
[[nodiscard]] Table select(const Table& table, std::span<const Index> rows);

// The table as CSV text (RFC 4180, LF).
[[nodiscard]] std::string to_csv(const Table& table);

// A fingerprint of each row over the named columns, equal for equal contents in any file:
// names, category texts and numbers' values count; the order of columns does not, nor
// whether a column of numbers was read as numbers or as categories.
[[nodiscard]] std::vector<std::uint64_t> row_hashes(const Table& table,
                                                    std::span<const std::string> columns);

// How many of `rows` are in `training` (both as hashes; training sorted).
[[nodiscard]] Index overlap(std::span<const std::uint64_t> rows,
                            std::span<const std::uint64_t> training);

}  // namespace fmd
