#pragma once

#include <map>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/attribute.h"
#include "fmd/data/table.h"

namespace fmd {

// What a backbone is given: rows of a table with the tensors that ride on them. A view, as
// Rows is one: the table must outlive it.
struct Inputs {
  const Table* table = nullptr;

  Inputs(const Table& rows) : table(&rows) {}  // NOLINT: a table is an input

  [[nodiscard]] Index rows() const { return table->rows(); }
  // Throws Error(missing_column) that names the tensors there are.
  [[nodiscard]] const TensorColumn& tensor(const std::string& name) const;
};

// A column that a backbone knows by name.
struct InputColumn {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> levels;  // category: what it knows; empty = anything
  bool read = true;  // false: named in the model, but no answer depends on it
  Notation notation = Notation::plain;  // how its files write it
  bool counted = false;  // a category that is not among the levels is counted, no error
};

// What a backbone takes from its inputs.
struct InputSchema {
  std::vector<InputColumn> columns;
  std::vector<std::string> tensors;     // names
  std::vector<std::string> files = {};  // columns that name a file, an image

  [[nodiscard]] bool reads(const std::string& column) const;
  [[nodiscard]] bool reads(const Attribute& attribute) const;  // any of its columns
  [[nodiscard]] std::vector<std::string> names() const;        // of columns that are read
  [[nodiscard]] std::map<std::string, ColumnKind> types() const;    // of all columns
  [[nodiscard]] std::map<std::string, Notation> notations() const;  // other than plain
  // Cells of columns that count them whose category is not among the levels, by column.
  [[nodiscard]] std::map<std::string, Index> unseen(const Table& table) const;
  // Marks the attribute's values that are not among the levels of a column that counts
  // them.
  void mark_unseen(Attribute& attribute) const;
  // How many cells are missing in the number columns that are read.
  [[nodiscard]] Index missing_numbers(const Table& table) const;
};

// The features that one column gives: [first, first + features).
struct ColumnFeatures {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Index first = 0, features = 1;
  double scale = 1;  // number x: feature `first` is (x - something) / scale
};

// Which feature belongs to which column. A backbone has one only where every feature comes
// from one column alone.
struct ColumnMap {
  std::vector<ColumnFeatures> columns;     // by first feature
  std::vector<std::string> feature_names;  // "sex=Male", "age", "age is missing"

  [[nodiscard]] const ColumnFeatures* find(const std::string& column) const;  // null: none
  // The features of all columns of the attribute.
  [[nodiscard]] std::vector<Index> of(const Attribute& attribute) const;
};

}  // namespace fmd
