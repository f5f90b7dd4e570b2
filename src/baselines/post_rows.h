#pragma once

#include <string_view>

#include "core/index.h"
#include "fmd/baselines/postprocess.h"

namespace fmd {

// Sizes agree and groups are below `groups`. Throws Error(bad_shape), Error(bad_option).
void require_post_rows(std::string_view where, const PostRows& rows, Index groups);

// Throws Error(bad_data) that says which group lacks what.
[[noreturn]] void throw_empty(std::string_view where, Index group, std::string_view what);

}  // namespace fmd
