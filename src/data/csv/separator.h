#pragma once

#include <string_view>

#include "core/internal.h"
#include "fmd/data/csv.h"

namespace fmd::internal {

// The separator of a text: the first of comma, semicolon, tab and pipe that the header has,
// and that the next line has as often. A comma where none is.
[[nodiscard]] char find_separator(std::string_view text, const CsvOptions& options);

// True when the text is long enough to tell, although it may go on.
[[nodiscard]] bool shows_separator(std::string_view text, const CsvOptions& options);

// Takes a first line "sep=;", as spreadsheets write it, from the text. False where there is
// none.
bool take_separator_line(std::string_view& text, CsvOptions& options);

// The options with the separator of this text, which begins with the header.
[[nodiscard]] CsvOptions with_separator(const CsvOptions& options, std::string_view text);

}  // namespace fmd::internal
