#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/table.h"

namespace fmd {

struct CsvOptions {
  // Kinds that are known already (a model's columns, task.toml); the rest is inferred: a
  // column is a number when every cell that is not missing reads as one.
  std::map<std::string, ColumnKind> types = {};
  // Only these columns are kept, all when empty. Others are still checked for well-formed
  // text.
  std::vector<std::string> keep = {};
  // Names for a file without a header line.
  std::vector<std::string> names = {};
  std::vector<std::string> missing = {"", "?"};
  // Lines that begin with this are passed over ("|" in adult.test); "" = none.
  std::string comment = "";
  Index max_field = 1 << 20;  // bytes of one cell; a longer one is an error, not a crash
  Index max_columns = 100000;
};

// Reads CSV: RFC 4180 quotes (quoted newlines, doubled quotes), LF or CRLF, UTF-8 with or
// without a byte order mark, comma separated, blanks around unquoted cells trimmed, gzip
// found by content. Throws Error(cannot_read), Error(bad_csv) and Error(bad_value), each
// naming file, line and column (a ragged row, an open quote, text after a closing quote, a
// NUL byte, UTF-16, bytes that are no UTF-8, a carriage return alone, a duplicate or empty
// column name, no header, no rows, a field over max_field, a cell of a number column that
// is no number or not finite, damaged gzip). A number is written as 12, +3.5, .5 or 1e-3;
// "inf", "nan", "NA" and hex are texts. A quoted cell can be missing too. Names in `keep`
// and `types` that the file does not have are passed over.
//
// Pieces of the text are read on the pool of `exec`; the table, or the error, is the same
// for any number of threads.
[[nodiscard]] Table read_csv(const std::filesystem::path& path,
                             const CsvOptions& options = {}, const Exec& exec = {});
[[nodiscard]] Table parse_csv(std::string_view text, const std::string& source,
                              const CsvOptions& options = {}, const Exec& exec = {});

// The file's text: gunzipped when it is gzip, bounded by max_bytes.
[[nodiscard]] std::string read_text(const std::filesystem::path& path,
                                    Index max_bytes = Index{1} << 40);

// Byte range of every record (header first; comments and blank lines left out, line ends
// too), for copying rows exactly as they stand. Points into the text.
[[nodiscard]] std::vector<std::string_view> csv_records(std::string_view text,
                                                        const std::string& source,
                                                        const CsvOptions& options = {});

// A cell as CSV: quoted when it needs to be.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace fmd
