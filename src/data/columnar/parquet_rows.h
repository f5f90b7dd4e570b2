#pragma once

#include <memory>
#include <span>

#include "data/row_source.h"

namespace fmd::internal {

// True when the bytes begin with the word that Parquet files begin with.
[[nodiscard]] bool is_parquet(std::span<const std::uint8_t> bytes);

// The rows of a Parquet file, block by block. Throws Error(unsupported) without the
// plug-in or for a type of column that is not read, and Error(bad_data) for a damaged
// file.
[[nodiscard]] std::unique_ptr<RowSource> open_parquet_rows(const OpenFile& file,
                                                           const CsvOptions& options,
                                                           const Exec& exec);

}  // namespace fmd::internal
