#pragma once

#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Rows whose weighted sum stands for the sum over all.
struct CurvatureSample {
  std::vector<Index> entries;  // ascending
  std::vector<double> weight;  // 1 / the entry's probability of being drawn
};

// About `count` entries, each drawn with a probability in proportion to its trace, 1 for
// those that alone matter that much. A fitted model is sure of most rows, which then have
// next to no curvature: a few thousand rows drawn evenly say less of H than a few hundred
// drawn like this. Always the same ones for the same traces; none when all are 0.
[[nodiscard]] CurvatureSample draw_by_trace(const Vector& traces, Index count);

}  // namespace fmd
