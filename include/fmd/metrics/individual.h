#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/nearest.h"
#include "fmd/model/rows.h"

namespace fmd {

// Are near rows answered alike? 1 - mean over rows of the share of a row's k nearest rows
// whose decision differs: for two classes 1 - (1/n) sum |yhat_i - mean of its neighbours'|,
// as AIF360 has it, the row itself being the first of its neighbours. near: of all rows
// among all rows. Interval: bootstrap over rows, their neighbours held fixed. Throws
// Error(bad_shape).
[[nodiscard]] Interval consistency(const Scored& scored, const Neighbours& near,
                                   double confidence, Index replicates, const Exec& exec,
                                   Bootstrap intervals = Bootstrap::percentile);

// Clarify's flip test (F+ - F-) / n for the rows of one group: F+ are answered unfavourably
// while more than half of their neighbours in the other group are answered favourably, F-
// the reverse. near: of `rows`, among the other group's. Undefined without a favourable
// class. Throws Error(bad_shape).
[[nodiscard]] Interval flip_test(const Scored& scored, std::span<const Index> rows,
                                 const Neighbours& near, double confidence,
                                 Index replicates, const Exec& exec,
                                 Bootstrap intervals = Bootstrap::percentile);

// How far the second rows of pairs lie from the first, in features: mean distances, rows
// with several pairs counted once. Mahalanobis: by the covariance of the rows of both
// sides, see whiten(). Interval: bootstrap over rows. Takes 8 bytes for each pair and
// feature.
struct Distortion {
  Interval euclidean, manhattan, mahalanobis;
  std::string reason;  // why the last is undefined
};
[[nodiscard]] Distortion sample_distortion(const PairSet& pairs, double confidence,
                                           Index replicates, const Exec& exec);

}  // namespace fmd
