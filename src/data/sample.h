#pragma once

#include <cstddef>

#include "core/internal.h"

namespace fmd::internal {

// The bytes of src/data/sample/acs_income.csv.gz, put into the library by the build
// (cmake/embed.cmake), so that the demo needs neither files nor network.
extern const unsigned char kAcsIncomeSample[];
extern const std::size_t kAcsIncomeSampleSize;

}  // namespace fmd::internal
