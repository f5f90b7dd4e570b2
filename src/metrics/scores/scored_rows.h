#pragma once

#include <cstdint>
#include <vector>

#include "core/internal.h"
#include "fmd/metrics/scored.h"

namespace fmd::internal {

// Sizes agree, labels and the favourable class are classes. Throws Error (bad_shape,
// bad_option).
void require_scored(const char* where, const Scored& scored);

// Both pass require_scored() and are of the same rows.
void require_same_rows(const char* where, const Scored& before, const Scored& after);

// One code per row, each -1 or below `values`. Throws Error(bad_shape).
void require_codes(const char* where, const std::vector<std::int32_t>& code, Index rows,
                   Index values);

}  // namespace fmd::internal
