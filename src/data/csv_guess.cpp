#include <cassert>

#include "data/csv_piece.h"
#include "data/number.h"
#include "fmd/core/error.h"

namespace fmd {

void find_error(const CsvPlan& plan, std::string_view text, std::size_t begin, Index line,
                bool open_end) {
  CsvScanner scanner(text, plan.source, plan.options);
  scanner.set_open_end(open_end);
  scanner.set_names(&plan.names);
  scanner.seek(text.data() + begin, line);
  std::string scratch;
  while (next_checked(scanner)) {
    check_width(scanner, plan.names.size());
    for (const CsvColumn& column : plan.columns) {
      if (!column.given || column.kind != ColumnKind::number) continue;
      const std::string_view cell = cell_text(scanner.cells()[column.position], scratch);
      double value = 0;
      if (!plan.missing.has(cell) && parse_number(cell, value) != NumberText::number)
        fail_number(scanner, column.position, cell);
    }
  }
  assert(false && "a piece that failed has an error");
  throw Error(ErrorKind::bad_csv, plan.source + ": is damaged");
}

std::size_t guess_record(const CsvPlan& plan, std::string_view text, std::size_t at) {
  constexpr int kTries = 64;   // lines
  constexpr int kRecords = 2;  // that must be as wide as the header
  constexpr std::size_t kNear = std::size_t{1} << 16;
  std::size_t first = std::string_view::npos;
  const std::string_view near = text.substr(0, at + kNear);
  CsvScanner scanner(near, plan.source, plan.options);
  scanner.set_open_end(near.size() < text.size());
  for (int i = 0; i < kTries; ++i) {
    const std::size_t feed = (i == 0 ? text : near).find('\n', at - 1);
    if (feed == std::string_view::npos) break;
    at = feed + 1;
    if (first == std::string_view::npos) first = at;
    if (at >= near.size()) break;
    scanner.seek(text.data() + at, 1);
    bool fits = true;
    try {
      for (int k = 0; fits && k < kRecords && scanner.next(); ++k)
        fits = scanner.cells().size() == plan.names.size();
    } catch (const Error&) {
      fits = false;
    }
    if (fits) return at;
    ++at;
  }
  return first == std::string_view::npos ? text.size() : first;
}

}  // namespace fmd
