#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "data/csv/marks.h"
#include "data/csv/plan.h"

namespace fmd::internal {

// Cells of one column in one piece of the text. Codes: -1 is missing, 0 and above are known
// levels, -2 - i is level i of those that are new in this piece.
struct PieceColumn {
  std::vector<double> numbers;
  std::vector<std::int32_t> codes;
  KnownLevels fresh;
  Index missing = 0;
  bool any = false;     // a cell that is not missing
  bool words = false;   // a missing number is written as a word: "NA"
  bool turned = false;  // an inferred number column has a text: its numbers are void
};

// A run of records of a text that is parsed on its own. Many pieces are parsed at the same
// time. The memory of the last parse is reused for the next. Regular records (as wide as
// the header, cells plain or well quoted) are read from CsvMarks, which is fast. All
// others go through CsvScanner, which knows every rule.
class CsvPiece {
 public:
  explicit CsvPiece(const CsvPlan& plan);

  // Parses the records that begin in [begin, stop). `begin` must be the start of a record.
  // end() is then where the next record begins. With open_end the text may go on after its
  // end. Bad input does not throw: failed() is then true, and find_error() throws the
  // error.
  void parse(std::string_view text, std::size_t begin, std::size_t stop, bool open_end);

  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] std::size_t end() const { return end_; }  // start of what follows
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index feeds() const { return line_; }          // line feeds passed
  [[nodiscard]] const Lines& lines() const { return lines_; }  // from 0 at begin()
  [[nodiscard]] PieceColumn& column(std::size_t c) { return columns_[c]; }

 private:
  struct Cells;
  void clear();
  bool take_marked(std::string_view text, std::size_t stop);  // false: one must be scanned
  bool scan_record(std::string_view text);
  [[nodiscard]] bool is_regular(std::string_view text, const std::uint32_t* ends) const;
  [[nodiscard]] bool quotes_hold(std::string_view text, const std::uint32_t* ends) const;
  void take_run(std::string_view text, const std::uint32_t* ends, std::size_t count);
  void count_lines(std::string_view text, const std::uint32_t* ends, std::size_t count);
  void add_numbers(const CsvColumn& column, PieceColumn& to, const Cells& cells);
  void add_codes(const CsvColumn& column, PieceColumn& to, const Cells& cells);
  bool add_number(const CsvColumn& column, PieceColumn& to, std::string_view text,
                  double& value);
  [[nodiscard]] std::int32_t code_of(const CsvColumn& column, PieceColumn& to,
                                     std::string_view text);

  const CsvPlan* plan_;
  std::unique_ptr<PieceColumn[]> columns_;
  CsvMarks marks_;
  CsvScanner scanner_;
  std::size_t segment_;  // bytes whose marks are found at a time
  std::size_t begin_ = 0, end_ = 0;
  bool failed_ = false;
  Index rows_ = 0;
  Index line_ = 0;
  Lines lines_;
  std::string scratch_;
};

// Throws the first error of the records in [begin, ...) of the text, after a piece has
// failed. `line` is the line of `begin`.
[[noreturn]] void find_error(const CsvPlan& plan, std::string_view text, std::size_t begin,
                             Index line, bool open_end);

// A likely start of a record at or after `at`: a line from which records as wide as the
// header follow. It may be wrong (a line inside of quotes); the caller must check it.
[[nodiscard]] std::size_t guess_record(const CsvPlan& plan, std::string_view text,
                                       std::size_t at);

}  // namespace fmd::internal
