#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/notation.h"

namespace fmd {

enum class ColumnKind { number, category };

// A column: numbers (missing = NaN) or categories (codes into levels, missing = -1). Levels
// are in order of first appearance.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::vector<double> numbers = {};
  std::vector<std::int32_t> codes = {};
  std::vector<std::string> levels = {};
  Index missing = 0;                    // how many cells
  Notation notation = Notation::plain;  // in the file

  [[nodiscard]] Index rows() const;
  // The cell as text; "" when missing. A number has the shortest text that reads back as
  // the same number.
  [[nodiscard]] std::string text(Index row) const;
};

// The line of each row in its file, from 1. Runs of rows are kept, so that rows that follow
// each other in the file cost nothing.
class Lines {
 public:
  Lines() = default;
  Lines(std::initializer_list<Index> lines);

  void push_back(Index line);
  void append(Index first, Index count);  // first, first + 1, ...
  // Rows [from, from + count) of `other`, `shift` lines further down.
  void append(const Lines& other, Index from, Index count, Index shift);
  void clear();

  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Index operator[](Index row) const;

  // For files that are not text and have no lines: the numbers are row numbers.
  void count_rows() { of_rows_ = true; }
  [[nodiscard]] bool of_rows() const { return of_rows_; }

  bool operator==(const Lines&) const = default;

 private:
  struct Run {
    Index row, line;  // where it begins
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> runs_;
  Index size_ = 0;
  bool of_rows_ = false;
};

// A tensor for each row of a table: an image, a text's states. It is decoded or mapped when
// it is read, so that the rows need not fit into memory.
struct TensorColumn {
  std::string name;
  std::vector<Index> shape;  // of one row
  // Writes the tensors of the given rows, one after the other. Called from one thread at a
  // time unless the backbone that reads it is concurrent. Throws an Error that names the
  // file.
  std::function<void(std::span<const Index> rows, float* into)> read;

  [[nodiscard]] Index size() const;  // floats of one row
};

// Rows with typed columns, as read from a file. Missing values are kept as missing. Tensors
// ride on the rows: select() takes them along.
struct Table {
  std::string source;  // file name as given, for messages
  std::vector<Column> columns;
  Lines line;  // of each row in the file; may be empty
  std::vector<TensorColumn> tensors = {};

  [[nodiscard]] Index rows() const;
  [[nodiscard]] const Column* find(std::string_view name) const;  // null when absent
  // Throws Error(missing_column) that names the file, the column and the columns there are;
  // the hint is the nearest name.
  [[nodiscard]] const Column& column(std::string_view name) const;
  // The start of a message: "repair.csv, line 17", or "row 16" where lines are not known.
  [[nodiscard]] std::string where(Index row) const;
};

// The given rows, in the given order.
[[nodiscard]] Table select(const Table& table, std::span<const Index> rows);

// The table as CSV text (RFC 4180, LF).
[[nodiscard]] std::string to_csv(const Table& table);

// A fingerprint of each row over the named columns. It is equal for equal contents in any
// file: column names, texts of categories and values of numbers count. The order of columns
// does not count, nor whether a column of numbers was read as numbers or as categories.
[[nodiscard]] std::vector<std::uint64_t> row_hashes(const Table& table,
                                                    std::span<const std::string> columns);

// How many of `rows` are in `training` (both as hashes; training sorted).
[[nodiscard]] Index overlap(std::span<const std::uint64_t> rows,
                            std::span<const std::uint64_t> training);

}  // namespace fmd
