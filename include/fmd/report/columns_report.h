#pragma once

#include <string>

#include "fmd/data/columns.h"
#include "fmd/report/sheet.h"

namespace fmd {

// JSON: source, rows, columns [{name, type, missing, share_missing, values, example,
// became, features}], warnings [{column, kind, text}], left_out.
[[nodiscard]] std::string to_json(const ColumnsReport& report);

// A table of columns; at most `most` of them, and a line that says how many are not shown.
[[nodiscard]] SheetSection columns_section(const ColumnsReport& report, std::size_t most);
[[nodiscard]] Sheet sheet_of(const ColumnsReport& report);

// "note   AGE: dates are read as ...": one line for each warning.
[[nodiscard]] std::string warning_lines(const ColumnsReport& report);

}  // namespace fmd
