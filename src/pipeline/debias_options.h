#pragma once

#include <string>

#include "core/internal.h"
#include "fmd/pipeline/debias_options.h"

namespace fmd::internal {

// Throws Error(bad_option) that names the option, its value and what it must be.
void validate(const DebiasOptions& options, bool has_train);

// step, remove or replace.
[[nodiscard]] bool is_newton(const std::string& method);

}  // namespace fmd::internal
