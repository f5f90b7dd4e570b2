#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/notation.h"
#include "fmd/data/table.h"

namespace fmd {

struct CsvOptions {
  // Kinds that are known already (from a model's columns or task.toml). The rest is
  // inferred: a column holds numbers when every cell that is not missing reads as a number.
  std::map<std::string, ColumnKind> types = {};
  // Only these columns are kept (a * stands for any text); empty = all. Other columns are
  // still checked for well-formed text.
  std::vector<std::string> keep = {};
  // Names for a file without a header line.
  std::vector<std::string> names = {};
  std::vector<std::string> missing = {"", "?"};
  // Lines that begin with this are skipped ("|" in adult.test); "" = none.
  std::string comment = "";
  Index max_field = 1 << 20;  // bytes of one cell; a longer one is an error, not a crash
  Index max_columns = 100000;
  // Between cells: ',', ';', '\t' or '|'. 0 = found in the first two lines; a comma where
  // they do not tell, and for a file without a header line.
  char separator = '\0';
  // Columns whose cells are written in another notation than plain. They are numbers in
  // the table (categories, where they are codes).
  std::map<std::string, Notation> notations = {};
};

// Reads CSV: RFC 4180 quotes (quoted newlines, doubled quotes), LF or CRLF, UTF-8 with or
// without a byte order mark, separated by commas, semicolons, tabs or pipes. Blanks around
// unquoted cells are trimmed. Gzip is found by content. A number is written as 12, +3.5, .5
// or 1e-3; "inf" and hex are texts. "NA", "nan", "null" and the like (docs/columns.md) are
// missing values in a column of numbers, and texts in any other column. A quoted cell can
// be missing too. Names in `keep` and `types` that the file does not have are ignored.
//
// Throws Error(cannot_read), Error(bad_csv) and Error(bad_value). Each names file, line and
// column. The causes are: a ragged row, an open quote, text after a closing quote, a NUL
// byte, UTF-16, bytes that are not valid UTF-8, a carriage return alone, a duplicate or
// empty column name, no header, no rows, a field over max_field, a cell of a number column
// that is not a finite number, damaged gzip.
//
// Pieces of the text are read on the pool of `exec`. The table, or the error, is the same
// for any number of threads.
[[nodiscard]] Table read_csv(const std::filesystem::path& path,
                             const CsvOptions& options = {}, const Exec& exec = {});
[[nodiscard]] Table parse_csv(std::string_view text, const std::string& source,
                              const CsvOptions& options = {}, const Exec& exec = {});

// The file's text, unpacked when it is gzip. Throws when it has more than max_bytes.
[[nodiscard]] std::string read_text(const std::filesystem::path& path,
                                    Index max_bytes = Index{1} << 40);

// The bytes of every record, for copying rows exactly as they are. The header comes first.
// Comments, blank lines and line ends are left out. The views point into the text.
[[nodiscard]] std::vector<std::string_view> csv_records(std::string_view text,
                                                        const std::string& source,
                                                        const CsvOptions& options = {});

// Spreadsheets take a cell that begins with = + - or @ (also after a tab or line end) for a
// formula and run it. `formulas` puts a ' before such a text, which shows it as it is.
enum class CsvGuard { none, formulas };

// A text as a cell of CSV, with quotes where it needs them.
[[nodiscard]] std::string csv_cell(std::string_view text, CsvGuard guard = CsvGuard::none);

}  // namespace fmd
