#pragma once

#include <memory>

#include "data/row_source.h"
#include "fmd/data/arrow.h"

namespace fmd::internal {

// The rows of an Arrow stream, block by block, as often as asked. Throws Error(unsupported)
// for a type of column that is not read.
[[nodiscard]] std::unique_ptr<RowSource> open_arrow_rows(
    std::shared_ptr<const ArrowBatches> batches, const CsvOptions& options,
    const Exec& exec);

}  // namespace fmd::internal
