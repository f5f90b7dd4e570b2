#pragma once

#include <memory>
#include <span>

#include "fmd/core/exec.h"
#include "fmd/model/features.h"

namespace fmd {

// The features of all rows without some columns; the other columns are unchanged. They are
// for another head: an offset for the model's own logits does not come along.
[[nodiscard]] std::unique_ptr<Features> without_columns(const Features& X,
                                                        std::span<const Index> drop,
                                                        const Exec& exec);

}  // namespace fmd
