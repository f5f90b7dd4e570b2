#include "data/columnar/column_source.h"

#include <limits>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"

namespace fmd::internal {

double ColumnSource::number(std::string_view text, Index row) const {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  if (missing_->has(text)) return kMissing;
  double value = 0;
  const NumberText result = parse_number(text, value);
  if (result == NumberText::number) return value;
  if (text == "nan") return kMissing;
  throw Error(
      ErrorKind::bad_value,
      fmt::format("{}: \"{}\" {}", where(row), shorten(text),
                  result == NumberText::other ? "is not a number" : "is out of range"),
      "this column was declared or trained as numbers; correct the cell, or make it "
      "null when the value is missing");
}

std::string ColumnSource::where(Index row) const {
  return fmt::format("{}, row {}, column \"{}\"", source_, row + 1, name_);
}

void ColumnSource::fail_damaged(const std::string& what) const {
  throw Error(ErrorKind::bad_data,
              fmt::format("{}, column \"{}\": {}", source_, name_, shorten(what)),
              "the Parquet file is damaged: write it again");
}

}  // namespace fmd::internal
