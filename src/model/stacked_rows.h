#pragma once

#include <memory>
#include <span>

#include "core/internal.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// The features of several lists of rows, one after the other, copied, with their offsets.
// Sparse where all
// lists are sparse, unless `dense` is asked for. At least one list.
[[nodiscard]] std::unique_ptr<Features> stack_rows(std::span<const Rows> lists,
                                                   bool dense = false);

}  // namespace fmd::internal
