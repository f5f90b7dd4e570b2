#pragma once

#include "fmd/metrics/scored.h"

namespace fmd {

// Sizes agree, labels and the favourable class are classes. Throws Error (bad_shape,
// bad_option).
void require_scored(const char* where, const Scored& scored);

// Both are so, and of the same rows.
void require_same_rows(const char* where, const Scored& before, const Scored& after);

}  // namespace fmd
