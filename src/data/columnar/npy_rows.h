#pragma once

#include <memory>

#include "data/row_source.h"

namespace fmd::internal {

// The rows of an .npy file, block by block. Columns are named as read_npy names them.
[[nodiscard]] std::unique_ptr<RowSource> open_npy_rows(const OpenFile& file,
                                                       const CsvOptions& options,
                                                       const Exec& exec);

}  // namespace fmd::internal
