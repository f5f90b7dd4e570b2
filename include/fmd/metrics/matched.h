#pragma once

#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// Matched pairs: pair i compares row[i] with partner[i] of another group (gap) and with
// own[i] of its own group (floor).
struct MatchedGaps {
  Vector gap, floor;
  std::vector<Index> row, partner, own;
  std::vector<float> weight;  // > 0; sums to 1 over the pairs of a row
};

struct MatchedResult {
  Index rows = 0, pairs = 0;
  Interval co, floor, excess;  // means over rows; excess = co - floor, paired by pair
};

// A row is used several times, as source and as partner, so pairs are not independent. The
// variance of a mean therefore sums the products of any two pairs that share a row. A
// bootstrap of rows that keeps their partners fixed would give intervals that are too
// narrow. Intervals are value +- z times its root. Throws Error (bad_shape, bad_option).
[[nodiscard]] MatchedResult matched_result(const MatchedGaps& gaps, double confidence);

// The mean over rows of `value`. Pair i involves the rows rows[k][i] for each k. rows[0] is
// the source; the weights of its pairs sum to 1.
[[nodiscard]] Interval shared_mean(const Vector& value, const std::vector<float>& weight,
                                   const std::vector<const std::vector<Index>*>& rows,
                                   double confidence);

}  // namespace fmd
