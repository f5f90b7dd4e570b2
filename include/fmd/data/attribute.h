#pragma once

#include <string>
#include <vector>

#include "fmd/data/table.h"
#include "fmd/data/task.h"

namespace fmd {

// One cell of a row: a category's text or a number.
struct Cell {
  std::string text;
  double number = 0;
};

// An attribute's value for every row of a table, and what each value means in the columns
// that carry it. Values with most rows come first (ties by text), so value 0 is the largest
// group.
struct Attribute {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::string> values;       // for several columns joined by " / "
  std::vector<std::vector<Cell>> cells;  // [value][column]
  std::vector<std::int32_t> code;        // per row; -1 = missing or not among the values
  std::int32_t reference = -1;  // value that the others are compared against; -1 = none

  [[nodiscard]] std::vector<Index> counts() const;  // rows per value
};

// Reads the attribute's columns. spec.values names the values to use, also such that no row
// of this table has (count 0); without it a category column gives all its values (at most
// 256), and a number column is an error that names `values`: which numbers are groups
// cannot be guessed. Throws Error(missing_column), Error(bad_task: a value or reference
// that cannot be) and Error(bad_data: fewer than two values, or no row has one of them).
[[nodiscard]] Attribute read_attribute(const Table& table, const AttributeSpec& spec);

// The columns of `groups` (a second file) joined to `table` by the key column that both
// have: the table gains the columns it did not have. Throws Error(bad_data) on a key that
// is missing in groups or stands there twice, naming both lines. Rows of groups that no row
// of the table asks for are left out.
[[nodiscard]] Table join_groups(const Table& table, const Table& groups,
                                const std::string& key);

}  // namespace fmd
