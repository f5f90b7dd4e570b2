#pragma once

#include "core/internal.h"
#include "fmd/language/language_model.h"

namespace fmd::internal {

// Rows whose probabilities are in memory together: 64 rows of 49,152 words are 12.6 MB.
inline constexpr Index kStateRows = 64;

// p: softmax of the logits of states [first, first + count). The log of each sum.
[[nodiscard]] Vector probabilities(const VocabularyHead& head, const FloatMatrix& states,
                                   Index first, Index count, FloatMatrix& p);

}  // namespace fmd::internal
