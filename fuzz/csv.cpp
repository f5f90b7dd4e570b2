#include "fmd/data/csv.h"

#include "support/fuzz.h"

namespace fmd::fuzz {
namespace {

// The written table reads back as the same cells.
void check_round_trip(const Table& table) {
  CsvOptions options;
  for (const Column& column : table.columns) options.types[column.name] = column.kind;
  const Table again = parse_csv(to_csv(table), "again", options);
  require(again.rows() == table.rows(), "a written table has as many rows");
  require(again.columns.size() == table.columns.size(), "a written table has its columns");
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    require(again.columns[c].name == column.name, "names are kept");
    require(again.columns[c].missing == column.missing, "missing cells stay missing");
    for (Index row = 0; row < table.rows(); ++row)
      require(again.columns[c].text(row) == column.text(row), "cells are kept");
  }
}

}  // namespace
}  // namespace fmd::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const std::string_view text = fuzz::as_text({data, size});
  const auto table = fuzz::accepted([&] { return parse_csv(text, "fuzz.csv"); });
  if (!table) return 0;
  for (const Column& column : table->columns)
    fuzz::require(column.rows() == table->rows(), "columns are equally long");
  const auto records = csv_records(text, "fuzz.csv");
  fuzz::require(std::ssize(records) == table->rows() + 1,
                "one record per row, and a header");
  fuzz::check_round_trip(*table);
  // Other ways through the reader; they may refuse what was accepted.
  CsvOptions options{.comment = "|", .max_field = 8, .max_columns = 3};
  options.types[table->columns.front().name] = ColumnKind::number;
  (void)fuzz::accepted([&] { return parse_csv(text, "fuzz.csv", options); });
  options = {.keep = {table->columns.back().name}, .names = {"a", "b"}};
  (void)fuzz::accepted([&] { return parse_csv(text, "fuzz.csv", options); });
  return 0;
}
