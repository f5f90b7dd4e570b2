#pragma once

#include <string>

#include "core/internal.h"
#include "data/columnar/parquet_abi.h"
#include "fmd/core/exec.h"

namespace fmd::internal {

// The Parquet plug-in, opened when it is first needed. Throws Error(unsupported) that names
// the file that needs it and what to install.
[[nodiscard]] const FmdParquet& parquet_library(const std::string& source,
                                                const Exec& exec);

}  // namespace fmd::internal
