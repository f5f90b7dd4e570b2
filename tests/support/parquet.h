#pragma once

#include <filesystem>

#include "data/columnar/parquet_library.h"
#include "fmd/core/error.h"

namespace fmd::test {

// The plug-in of this build.
inline Exec parquet_exec() {
  static const BackendFiles files = {
      {"parquet",
       {(std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
         "fmd_parquet.so")
            .string()}}};
  return {.backends = &files};
}

// Whether the Parquet plug-in is there; without pyarrow it is not built.
inline bool has_parquet() {
  try {
    return parquet_library("", parquet_exec()).version == kFmdParquetVersion;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace fmd::test
