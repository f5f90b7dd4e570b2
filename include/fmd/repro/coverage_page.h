#pragma once

#include <string>
#include <vector>

#include "fmd/repro/coverage.h"

namespace fmd {

// The page docs/coverage.md: what was simulated, the share of intervals that held for every
// figure and setting, and what is not as it should be.
[[nodiscard]] std::string coverage_page(const std::vector<CoverageSetting>& settings,
                                        const CoverageOptions& options, std::uint64_t seed);

}  // namespace fmd
