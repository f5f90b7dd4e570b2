#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv_scan.h"
#include "data/level_index.h"
#include "fmd/data/csv.h"

namespace fmd {

// The texts that mean "missing"; almost every other cell is told apart by its first byte.
class MissingTexts {
 public:
  explicit MissingTexts(std::vector<std::string> texts);
  [[nodiscard]] bool has(std::string_view text) const {
    if (text.empty()) return empty_;
    return begins_[static_cast<unsigned char>(text[0])] && listed(text);
  }
  // One of them begins with a digit.
  [[nodiscard]] bool like_numbers() const { return like_numbers_; }

 private:
  [[nodiscard]] bool listed(std::string_view text) const;

  std::vector<std::string> texts_;
  bool empty_ = false;
  bool like_numbers_ = false;
  std::array<bool, 256> begins_ = {};
};

// Levels found so far. Not movable: the index points to the list.
struct KnownLevels {
  std::vector<std::string> levels = {};
  LevelIndex index{levels};
};

// A column of the file that is kept.
struct CsvColumn {
  std::size_t position = 0;  // in the file
  std::string name;
  bool given = false;    // kind is known, not inferred
  bool active = true;    // is being read
  bool numbers = false;  // a number has been read
  ColumnKind kind = ColumnKind::number;
  std::unique_ptr<KnownLevels> known = std::make_unique<KnownLevels>();
};

// What is known of a CSV text before its rows are read.
struct CsvPlan {
  CsvOptions options;
  std::string source;
  std::vector<std::string> names;  // of all columns
  std::vector<CsvColumn> columns;  // those that are kept, in the file's order
  MissingTexts missing;

  // Reads the header, unless the options name the columns. Throws as read_csv does.
  CsvPlan(CsvScanner& scanner, const CsvOptions& csv_options);
};

// scanner.next() that also looks at the bytes that it passes: the first thing that is wrong
// is what is thrown.
bool next_checked(CsvScanner& scanner);

// Throws when the record has not as many cells as the header.
void check_width(const CsvScanner& scanner, std::size_t width);

// The error for a cell of a number column that is no number.
[[noreturn]] void fail_number(const CsvScanner& scanner, std::size_t position,
                              std::string_view text);

[[noreturn]] void fail_no_rows(const CsvPlan& plan);

}  // namespace fmd
