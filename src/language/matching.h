#pragma once

#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/language/tokenizer.h"

namespace fmd::internal {

// Places of equal tokens in two sequences, in order: the longest common run (the first of
// several), then the same to its left and to its right (Ratcliff and Obershelp), as the
// authors of CrowS-Pairs do.
[[nodiscard]] std::vector<std::pair<Index, Index>> matching_tokens(const TokenIds& a,
                                                                   const TokenIds& b);

}  // namespace fmd::internal
