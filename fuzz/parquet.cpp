#include <cstdlib>

#include "data/columnar/parquet_library.h"
#include "data/columnar/parquet_rows.h"
#include "support/fuzz.h"

// Without the plug-in there is nothing to feed. Memory: a few bytes of Parquet can stand
// for very many rows, so that only the first blocks are read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  static const char* const plugin = std::getenv("FMD_PARQUET_LIB");
  static const BackendFiles files = {
      {"parquet", {plugin == nullptr ? "fmd_parquet.so" : plugin}}};
  static const Exec exec{.backends = &files};
  static const bool there =
      fuzz::accepted([] { return parquet_library("", exec).version; }).has_value();
  if (!there || !is_parquet({data, size})) return 0;
  const OpenFile file = InputFile::in_memory({data, size}, "fuzz.parquet");
  (void)fuzz::accepted([&] {
    const auto rows = open_parquet_rows(file, {}, exec);
    Table block;
    for (int i = 0; i < 4 && rows->next(block, 1000); ++i)
      for (const Column& column : block.columns)
        fuzz::require(column.rows() == block.rows(), "columns are equally long");
    return 0;
  });
  return 0;
}
