#pragma once

#include <string_view>

#include "core/internal.h"
#include "fmd/baselines/postprocess.h"

namespace fmd::internal {

// Checks that sizes agree, groups are below `groups` and scores are finite. Throws
// Error(bad_shape, bad_option, bad_data).
void require_post_rows(std::string_view where, const PostRows& rows, Index groups);

// Throws Error(bad_data) that says which rows a group lacks.
[[noreturn]] void throw_empty(std::string_view where, Index group, std::string_view what);

}  // namespace fmd::internal
