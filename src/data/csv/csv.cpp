#include "fmd/data/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/columns/notations.h"
#include "data/csv/read_all.h"
#include "data/csv/separator.h"
#include "data/gzip.h"
#include "data/text_check.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"

namespace fmd {

Table parse_csv(std::string_view text, const std::string& source, const CsvOptions& options,
                const Exec& exec) {
  CsvReader reader(make_feed(text), source, as_texts(options), exec);
  Table table = read_all(reader, exec);
  apply_notations(options, table);
  return table;
}

Table read_csv(const std::filesystem::path& path, const CsvOptions& options,
               const Exec& exec) {
  return read_csv_file(InputFile::open(path), options, exec);
}

std::string read_text(const std::filesystem::path& path, Index max_bytes) {
  const OpenFile file = InputFile::open(path);
  if (is_gzip(start_of(file))) return gunzip(file, max_bytes);
  return std::string(FileView::of(*file, max_bytes).text());
}

std::vector<std::string_view> csv_records(std::string_view text, const std::string& source,
                                          const CsvOptions& options) {
  const std::string_view checked = checked_text(text, source);
  CsvScanner scanner(checked, source, with_separator(options, checked));
  std::vector<std::string_view> records;
  while (scanner.next()) records.push_back(scanner.record());
  return records;
}

std::string csv_cell(std::string_view text, CsvGuard guard) {
  if (guard == CsvGuard::formulas && !text.empty() &&
      std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos)
    return csv_cell("'" + std::string(text));
  const bool blank_end = !text.empty() && (text.front() == ' ' || text.front() == '\t' ||
                                           text.back() == ' ' || text.back() == '\t');
  // At the start of a file the mark would be dropped, not read as a part of the cell.
  const bool marked = text.starts_with(kByteOrderMark);
  if (!blank_end && !marked && text.find_first_of(",\"\n\r") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace fmd
