#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/internal.h"

namespace fmd::internal {

// Where cells end: every separator and line feed outside of quotes, as offsets into the
// text.
// Quotes are paired by counting alone. That is right for well-formed records; the caller
// checks the records that have quotes.
struct CsvMarks {
  // at[0] is the line feed before the text (one below 0). The marks follow.
  std::vector<std::uint32_t> at;
  std::size_t count = 0;  // marks, without at[0]
  bool quotes = false;
  bool quoted_lines = false;  // a line feed inside of quotes
  bool returns = false;       // a carriage return
  bool above_ascii = false;
  bool nul = false;

  // Finds the marks of a text that begins with a record and is shorter than 4 GB.
  void find(std::string_view text, char separator);
};

}  // namespace fmd::internal
