#include "fmd/data/npy.h"

#include <cmath>

#include "data/columnar/npy_rows.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto view = fuzz::accepted([&] { return parse_npy({data, size}, "fuzz.npy"); });
  if (!view) return 0;
  fuzz::require(view->rows > 0 && !view->columns.empty(), "an array has numbers");
  const OpenFile file = InputFile::in_memory({data, size}, "fuzz.npy");
  for (const ColumnKind kind : {ColumnKind::number, ColumnKind::category}) {
    CsvOptions options;
    for (Index c = 0; c < 3; ++c) options.types["x" + std::to_string(c)] = kind;
    const auto table = fuzz::accepted([&] {
      const auto rows = open_npy_rows(file, options, {});
      return read_rows(*rows);
    });
    if (!table) continue;  // a number that is not finite
    fuzz::require(table->rows() == view->rows, "a table has the rows of the array");
    for (std::size_t c = 0; c < table->columns.size(); ++c) {
      const Column& column = table->columns[c];
      fuzz::require(column.rows() == view->rows, "columns are equally long");
      for (Index row = 0; row < column.rows(); ++row) {
        const double value = view->number(row, static_cast<Index>(c));
        fuzz::require(column.text(row).empty() == std::isnan(value), "NaN is missing");
      }
    }
  }
  if (const float* floats = view->floats()) {
    const auto width = static_cast<Index>(view->columns.size());
    for (Index i = 0; i < view->rows * width; ++i) {
      const double value = view->number(i / width, i % width);
      fuzz::require(static_cast<double>(floats[i]) == value || std::isnan(value),
                    "floats in place are the numbers");
    }
  }
  return 0;
}
