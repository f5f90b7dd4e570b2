#pragma once

#include <memory>
#include <vector>

#include "data/row_source.h"

namespace fmd::internal {

// A table in memory: all its rows come as one block. Columns have the kinds that they have.
[[nodiscard]] std::unique_ptr<RowSource> open_table_rows(
    std::shared_ptr<const Table> table, const std::vector<std::string>& keep);

}  // namespace fmd::internal
