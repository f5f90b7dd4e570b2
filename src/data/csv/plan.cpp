#include "data/csv/plan.h"

#include <algorithm>
#include <exception>
#include <map>

#include <fmt/format.h>

#include "data/glob.h"
#include "data/number.h"
#include "data/text_check.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

void check_names(const std::vector<std::string>& names, const CsvScanner& scanner) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      throw Error(ErrorKind::bad_csv,
                  fmt::format("{}, line {}: column {} has no name", scanner.source(),
                              scanner.line(), i + 1),
                  "the first line must name every column");
    }
    const auto [at, fresh] = seen.emplace(names[i], i);
    if (!fresh) {
      throw Error(
          ErrorKind::bad_csv,
          fmt::format("{}, line {}: columns {} and {} are both named \"{}\"",
                      scanner.source(), scanner.line(), at->second + 1, i + 1, names[i]),
          "rename one of them");
    }
  }
}

std::vector<std::string> read_names(CsvScanner& scanner, const CsvOptions& options) {
  if (!options.names.empty()) return options.names;
  if (!next_checked(scanner)) {
    throw Error(ErrorKind::bad_csv, fmt::format("{}: is empty", scanner.source()),
                "a header line with the columns' names and at least one row are needed");
  }
  std::vector<std::string> names;
  std::string scratch;
  for (const RawCell& cell : scanner.cells()) names.emplace_back(cell_text(cell, scratch));
  // An index that a program wrote beside the table.
  if (names.size() > 1 && names[0].empty()) names[0] = kUnnamedColumn;
  check_names(names, scanner);
  return names;
}

}  // namespace

CsvPlan::CsvPlan(CsvScanner& scanner, const CsvOptions& csv_options)
    : options(csv_options),
      source(scanner.source()),
      names(read_names(scanner, options)),
      missing(options.missing) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool wanted = options.keep.empty() || fits_any(names[i], options.keep);
    if (!wanted) continue;
    CsvColumn& column = columns.emplace_back();
    column.position = i;
    column.name = names[i];
    const auto type = options.types.find(names[i]);
    column.given = type != options.types.end();
    if (column.given) column.kind = type->second;
  }
}

bool next_checked(CsvScanner& scanner) {
  const char* begin = scanner.at();
  const Index line = scanner.line_at();
  bool more = false;
  std::exception_ptr error;
  try {
    more = scanner.next();
  } catch (const Error&) {
    error = std::current_exception();
  }
  const std::string_view passed(begin, scanner.at());
  const std::size_t bad = first_bad_byte(passed);
  if (bad < passed.size()) {
    const auto feeds = std::count(begin, begin + bad, '\n');
    fail_bad_byte(passed[bad], scanner.source(), line + feeds);
  }
  if (error) std::rethrow_exception(error);
  return more;
}

void check_width(const CsvScanner& scanner, std::size_t width) {
  const std::size_t count = scanner.cells().size();
  if (count == width) return;
  throw Error(ErrorKind::bad_csv,
              fmt::format("{}, line {}: {} cell{}, the header has {}", scanner.source(),
                          scanner.line(), count, count == 1 ? "" : "s", width),
              count > width ? "a text with a separator in it needs quotes around it"
                            : "an empty cell still needs its separator");
}

void fail_number(const CsvScanner& scanner, std::size_t position, std::string_view text) {
  double value = 0;
  const bool other = parse_number(text, value) == NumberText::other;
  throw Error(ErrorKind::bad_value,
              fmt::format("{}: \"{}\" {}", scanner.where(position), shorten(text),
                          other ? "is not a number" : "is out of range"),
              "this column was declared or trained as numbers; correct the cell, or leave "
              "it empty when the value is missing");
}

void fail_no_rows(const CsvPlan& plan) {
  throw Error(ErrorKind::bad_csv,
              plan.options.names.empty()
                  ? fmt::format("{}: has a header but no rows", plan.source)
                  : fmt::format("{}: is empty", plan.source));
}

}  // namespace fmd::internal
