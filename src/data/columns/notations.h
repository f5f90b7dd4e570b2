#pragma once

#include "core/internal.h"
#include "fmd/data/csv.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// The options for reading the texts of columns that have a notation.
[[nodiscard]] CsvOptions as_texts(const CsvOptions& options);

// Turns a column of texts into what the notation says. Words that mean "missing" become
// missing values. Throws Error(bad_value) that names the row.
void apply_notation(const Table& table, Notation notation, Column& column);
void apply_notations(const CsvOptions& options, Table& table);

}  // namespace fmd::internal
