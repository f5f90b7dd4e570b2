#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "fmd/data/csv.h"

namespace fmd::internal {

// A blank inside a line; cells are trimmed of these.
[[nodiscard]] inline bool is_blank(char c, char separator) {
  return c == ' ' || (c == '\t' && separator != '\t');
}

struct RawCell {
  std::string_view text;  // between the quotes, or without the blanks around it
  bool escaped = false;   // has doubled quotes
};

[[nodiscard]] std::string_view undouble_quotes(std::string_view text, std::string& scratch);

// The cell's text with doubled quotes made single, in `scratch` where that is needed.
[[nodiscard]] inline std::string_view cell_text(const RawCell& cell, std::string& scratch) {
  return cell.escaped ? undouble_quotes(cell.text, scratch) : cell.text;
}

// Walks over records, one at a time, without copying.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::string source, const CsvOptions& options);

  // Goes to the next record; false at the end. Blank lines and comments are skipped.
  bool next();

  // The text may go on after its end. A record that reaches the end is then not read:
  // next() gives false, and at() is where that record begins.
  void set_open_end(bool open) { open_end_ = open; }
  // Records that begin here or later are not read.
  void set_limit(const char* limit) { limit_ = limit; }
  void set_text(std::string_view text) {
    at_ = text.data();
    limit_ = end_ = at_ + text.size();
  }
  void seek(const char* at, Index line) {
    at_ = at;
    line_ = line;
  }
  [[nodiscard]] const char* at() const { return at_; }  // what next() will look at
  [[nodiscard]] Index line_at() const { return line_; }
  [[nodiscard]] const std::vector<RawCell>& cells() const { return cells_; }
  [[nodiscard]] Index line() const { return record_line_; }
  [[nodiscard]] std::string_view record() const { return record_; }  // without the line end

  // Column names for messages, once the header is known.
  void set_names(const std::vector<std::string>* names) { names_ = names; }
  // "x.csv, line 3, column "age"" (or "column 3" while there are no names).
  [[nodiscard]] std::string where(std::size_t column) const;
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  bool find_record();
  [[nodiscard]] bool ends_cell(char c) const {
    return c == separator_ || c == '\n' || c == '\r';
  }
  void read_record();
  void read_quoted();
  void read_plain();
  bool end_of_record();  // after a cell: true at a line end, false at a separator
  void add(RawCell cell);
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const;

  const char* at_;
  const char* end_;
  const char* limit_;
  bool open_end_ = false;
  std::string source_;
  std::string comment_;
  char separator_;
  std::size_t max_field_, max_columns_;
  const std::vector<std::string>* names_ = nullptr;
  std::vector<RawCell> cells_;
  std::string_view record_;
  Index line_ = 1;
  Index record_line_ = 1;
};

}  // namespace fmd::internal
