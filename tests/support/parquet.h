#pragma once

#include "data/columnar/parquet_library.h"
#include "fmd/core/error.h"

namespace fmd::test {

// Whether the Parquet plug-in is there; without pyarrow it is not built.
inline bool has_parquet() {
  try {
    return parquet_library("").version == kFmdParquetVersion;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace fmd::test
