#pragma once

#include "core/internal.h"
#include "fmd/data/attribute.h"

namespace fmd::internal {

// The values of one-hot columns: one for each column of the table that fits spec.one_hot.
// Its cell is set, and those of the other columns are not. Without counts. Throws
// Error(bad_task).
[[nodiscard]] Attribute one_hot_values(const AttributeSpec& spec, const Table& table);

}  // namespace fmd::internal
