#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "data/csv/scanner.h"
#include "data/level_index.h"
#include "data/missing_texts.h"
#include "fmd/data/csv.h"

namespace fmd::internal {

// The first column where the header leaves its name empty: an index that a program wrote
// beside the table. Elsewhere an empty name is an error.
inline constexpr const char* kUnnamedColumn = "(unnamed)";

// A column of the file that is kept.
struct CsvColumn {
  std::size_t position = 0;  // in the file
  std::string name;
  bool given = false;    // kind is known, not inferred
  bool active = true;    // it is being read
  bool numbers = false;  // a number has been read, or a word that stands for a missing one
  ColumnKind kind = ColumnKind::number;
  std::unique_ptr<KnownLevels> known = std::make_unique<KnownLevels>();
};

// What is known about a CSV text before its rows are read.
struct CsvPlan {
  CsvOptions options;
  std::string source;
  std::vector<std::string> names;  // of all columns
  std::vector<CsvColumn> columns;  // those that are kept, in the file's order
  MissingTexts missing;

  // Reads the header, unless the options name the columns. Throws what read_csv throws.
  CsvPlan(CsvScanner& scanner, const CsvOptions& csv_options);
};

// Like scanner.next(), but also checks the bytes that it passes. Throws the first error of
// both.
bool next_checked(CsvScanner& scanner);

// Throws when the record does not have as many cells as the header.
void check_width(const CsvScanner& scanner, std::size_t width);

// Throws the error for a cell of a number column that is not a number.
[[noreturn]] void fail_number(const CsvScanner& scanner, std::size_t position,
                              std::string_view text);

[[noreturn]] void fail_no_rows(const CsvPlan& plan);

}  // namespace fmd::internal
