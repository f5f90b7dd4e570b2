#pragma once

#include <memory>
#include <span>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/model/features.h"

namespace fmd::internal {

// make_patched() on all threads: the same features for any number of them.
[[nodiscard]] std::unique_ptr<Features> make_patched(const Features& base,
                                                     std::span<const Index> rows,
                                                     const FeaturePatch& patch,
                                                     std::span<const std::int32_t> to,
                                                     const Exec& exec);

}  // namespace fmd::internal
