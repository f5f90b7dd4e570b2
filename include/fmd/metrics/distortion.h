#pragma once

#include <string>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd {

// How far the second rows of pairs lie from the first rows, in features: mean distances. A
// row with several pairs counts once. Mahalanobis: by the covariance of the rows of both
// sides, see whiten(). Interval: bootstrap over rows. Takes 8 bytes for each pair and
// feature.
struct Distortion {
  Interval euclidean, manhattan, mahalanobis;
  std::string reason;  // why mahalanobis is undefined
};
[[nodiscard]] Distortion sample_distortion(const PairSet& pairs, double confidence,
                                           Index replicates, const Exec& exec);

}  // namespace fmd
