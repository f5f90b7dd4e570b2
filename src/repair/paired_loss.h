#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// The most accuracy that a change may cost, given rows that were answered before and after
// it: the upper end of Tango's score interval for a difference of paired shares, which the
// true loss exceeds with probability `risk`. lost: rows answered correctly only before,
// gained: only after, of `rows` > 0. risk .5 is the point estimate (lost - gained) / rows.
// Unlike a bootstrap it is above 0 where no answer changed: few rows prove little.
[[nodiscard]] double most_loss(Index lost, Index gained, Index rows, double risk);

}  // namespace fmd::internal
