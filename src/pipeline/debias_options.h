#pragma once

#include "core/internal.h"
#include "fmd/pipeline/debias_options.h"

namespace fmd::internal {

// Throws Error(bad_option) that names the option, its value and what it must be.
void require_valid(const DebiasOptions& options, bool has_train);

}  // namespace fmd::internal
