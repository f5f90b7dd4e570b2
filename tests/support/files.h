#pragma once

#include <filesystem>

namespace fmd::test {

// NPY and Parquet files, and CSV files with the same tables (tools/make_table_files.py).
inline const std::filesystem::path kFiles = std::filesystem::path(FMD_TEST_DIR) / "files";

}  // namespace fmd::test
