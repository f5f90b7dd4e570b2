#pragma once

#include <string>
#include <vector>

#include "fmd/data/table.h"
#include "fmd/data/task.h"

namespace fmd {

// What one column of a table is, and what it becomes as an input of a model.
struct ColumnFacts {
  std::string name;
  std::string type;     // number | date | boolean | category | text
  Index missing = 0;    // cells
  Index values = 0;     // different ones; of numbers at most kMostCounted + 1
  std::string example;  // the first cell that is not missing, as the file writes it
  std::string became;   // "1 feature", "label", "left out: free text"
  Index features = 0;   // 0: no input
};

// Different numbers are counted up to here. One more means "more".
inline constexpr Index kMostCounted = 1000;

// Something that a reader of the table should look at. `kind` is a word for programs:
// many_values | id | constant | code | sentinel | spelling | date | free_text | groups |
// odd_cells | decimal_comma | numeric_label | favorable.
struct ColumnWarning {
  std::string column;
  std::string kind;
  std::string text;
};

struct ColumnsReport {
  std::string source;
  Index rows = 0;
  std::vector<ColumnFacts> columns;
  std::vector<ColumnWarning> warnings;
  std::vector<std::string> left_out;  // inputs that are free text
};

// Settles what the columns of a training table are. A column whose kind the task does not
// give, and that is neither label nor id:
//   - texts that are numbers or dates in one notation become numbers (notation.h);
//   - a column of an attribute that has at most 20 different whole numbers is a category;
//   - free text (long texts, most of them different) is left out, and named in left_out.
// A column of texts of which at least nine in ten are numbers (or dates) is an
// Error(bad_value) that names the first other cells and what to write; with `lenient` it is
// a warning. Where there are more than 20 different numbers and at most 5 other texts, half
// of the cells are enough.
// The table should be read with the options of training_options().
[[nodiscard]] ColumnsReport settle_columns(Table& table, const Task& task, bool lenient);

// Columns of attributes that name no values, ranges or quantiles: read as texts, so that
// settle_columns sees how they are written.
[[nodiscard]] std::vector<std::string> open_attribute_columns(const Task& task);

// Warnings about the label and the favourable answer. `favorable_given`: somebody said
// which answer is good for the person.
[[nodiscard]] std::vector<ColumnWarning> label_warnings(const Table& table,
                                                        const Task& task,
                                                        bool favorable_given);

}  // namespace fmd
