#pragma once

#include "fmd/pipeline/debias.h"

namespace fmd {

// Throws Error(bad_option) that names the option, what came and what it must be.
void validate(const DebiasOptions& options, bool has_train);

// step, remove or replace.
[[nodiscard]] bool is_newton(const std::string& method);

}  // namespace fmd
