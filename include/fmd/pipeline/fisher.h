#pragma once

#include "fmd/core/types.h"

namespace fmd {

// Two-sided p-value of k1 of n1 against k2 of n2 by Fisher's exact test. It is the chance
// of a table that is as unlikely as this one, or less likely, when the rows are dealt out
// to the two groups at random. A scan uses this test, not a normal one: after adjustment
// its levels can be 1e-5, far in the tails, where 20 labels are too few for a normal
// approximation. 1 where the test says nothing (n1 or n2 = 0). Throws Error(bad_option)
// when k1 > n1 or k2 > n2.
[[nodiscard]] double fisher_test(Index k1, Index n1, Index k2, Index n2);

}  // namespace fmd
