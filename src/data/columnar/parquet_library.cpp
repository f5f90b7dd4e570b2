#include "data/columnar/parquet_library.h"

#include "fmd/core/plugin.h"

namespace fmd::internal {

const FmdParquet& parquet_library(const std::string& source, const Exec& exec) {
  return *static_cast<const FmdParquet*>(open_backend(
      "parquet", kFmdParquetVersion, exec.backends, source + ": a Parquet file",
      "install the Python package pyarrow and build fmd again (./dev setup does both), "
      "name the plug-in by FMD_PARQUET_LIB, or save the table as CSV"));
}

}  // namespace fmd::internal
