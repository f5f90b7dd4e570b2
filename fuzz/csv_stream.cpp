#include "../tests/support/tables.h"
#include "data/csv/csv_rows.h"
#include "data/csv/read_all.h"
#include "support/fuzz.h"

namespace fmd::fuzz {
namespace {

struct Outcome {
  std::optional<Table> table;
  std::string error;
};

template <typename Read>
Outcome outcome(const Read& read) {
  try {
    return {read(), ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

Table read_blocks(const OpenFile& file, const CsvOptions& options, std::size_t chunk,
                  Index rows) {
  static ThreadPool pool(2);
  CsvRows source(make_feed(file, 2 * chunk), file->name(), options, {.pool = &pool}, chunk);
  Table table;
  Table block;
  while (source.next(block, rows)) {
    require(block.rows() <= rows, "a block is not longer than asked for");
    test::append_block(table, block);
  }
  return table;
}

void check_same(const Outcome& a, const Outcome& b) {
  require(a.error == b.error, "a stream has the error of the whole file");
  require(!a.table || test::difference(*a.table, *b.table).empty(),
          "a stream has the rows of the whole file");
}

}  // namespace
}  // namespace fmd::fuzz

// The first byte chooses how large pieces and blocks are; the rest is the file, packed or
// not.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  if (size == 0) return 0;
  const std::size_t chunk = 1 + data[0] % 32;
  const Index rows = 1 + data[0] / 32;
  const OpenFile file = InputFile::in_memory({data + 1, size - 1}, "fuzz.csv");
  CsvOptions options;
  if (data[0] % 2 == 0) options.comment = "#";
  if (data[0] % 3 == 0) options.types["a"] = ColumnKind::number;
  const auto whole = fuzz::outcome([&] {
    CsvReader reader(make_feed(file, size + 1), file->name(), options, {}, size + 1);
    return read_all(reader, {});
  });
  fuzz::check_same(
      whole, fuzz::outcome([&] { return fuzz::read_blocks(file, options, chunk, rows); }));
  return 0;
}
