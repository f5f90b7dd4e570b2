#pragma once

#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// How many bins of equal width the scores 0 .. 1 are counted in. A multiple of 10, so that
// the 10 bins of calibration errors are whole numbers of these.
inline constexpr Index kScoreBins = 1000;

// Scores of the favourable class, counted by label: positive = the favourable one. Bin b
// holds scores from b / bins up to (b + 1) / bins; 1 is in the last one. Rows without a
// label are in neither.
struct ScoreHistogram {
  std::vector<Index> positive, negative;
};

}  // namespace fmd
