#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fmd/data/csv.h"

namespace fmd {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The text without its byte order mark. Throws Error(bad_csv) for UTF-16, a NUL byte and
// bytes that are no UTF-8, naming the line.
[[nodiscard]] std::string_view checked_text(std::string_view text,
                                            const std::string& source);

struct RawCell {
  std::string_view text;  // between the quotes, or without the blanks around
  bool escaped = false;   // has doubled quotes
};

[[nodiscard]] std::string_view undouble_quotes(std::string_view text, std::string& scratch);

// The cell's text with doubled quotes undone, in `scratch` where that is needed.
[[nodiscard]] inline std::string_view cell_text(const RawCell& cell, std::string& scratch) {
  return cell.escaped ? undouble_quotes(cell.text, scratch) : cell.text;
}

// Walks over records, one at a time, without copying.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::string source, const CsvOptions& options);

  // To the next record; false at the end. Blank lines and comments are passed over.
  bool next();
  [[nodiscard]] const std::vector<RawCell>& cells() const { return cells_; }
  [[nodiscard]] Index line() const { return record_line_; }
  [[nodiscard]] std::string_view record() const { return record_; }  // without the line end

  // Names for messages, once the header is known.
  void set_names(const std::vector<std::string>* names) { names_ = names; }
  // "x.csv, line 3, column "age"" (or "column 3" while there are no names).
  [[nodiscard]] std::string where(std::size_t column) const;
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  bool find_record();
  void read_quoted();
  void read_plain();
  bool end_of_record();  // after a cell: true at a line end, false at a comma
  void add(RawCell cell);
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const;

  const char* at_;
  const char* end_;
  std::string source_;
  std::string comment_;
  std::size_t max_field_, max_columns_;
  const std::vector<std::string>* names_ = nullptr;
  std::vector<RawCell> cells_;
  std::string_view record_;
  Index line_ = 1;
  Index record_line_ = 1;
};

}  // namespace fmd
