#pragma once

#include "core/internal.h"

namespace fmd::internal {

// How many rows, and how many of them are hits. Rows with weights count as their effective
// number.
struct RateCount {
  double hits = 0, of = 0;
};

// Sums of weights as a number of rows that all count the same: n = (sum w)^2 / sum w^2
// rows, of which the share hits / of are hits. hits, of: sums of weights; squares: sum w^2.
[[nodiscard]] RateCount effective(double hits, double of, double squares);

}  // namespace fmd::internal
