#pragma once

#include <span>

#include "fmd/core/exec.h"
#include "fmd/metrics/distortion.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/nearest.h"

namespace fmd {

// Do similar rows get the same decision? 1 - mean over rows of the share of a row's k
// nearest rows whose decision differs. For two classes this is
// 1 - (1/n) sum |yhat_i - mean of its neighbours'|, AIF360's definition; each row is its
// own first neighbour. near: the neighbours of all rows among all rows. Interval: bootstrap
// over rows, with their neighbours fixed. Throws Error(bad_shape).
[[nodiscard]] Interval consistency(const Scored& scored, const Neighbours& near,
                                   double confidence, Index replicates, const Exec& exec,
                                   Bootstrap intervals = Bootstrap::percentile);

// Clarify's flip test (F+ - F-) / n for the n rows of one group. F+: rows with an
// unfavourable decision while more than half of their neighbours in the other group have
// the favourable one. F-: rows with the favourable decision while at most half of these
// neighbours have it. near: the neighbours of `rows` among the rows of the other group.
// Undefined without a favourable class. Throws Error(bad_shape).
[[nodiscard]] Interval flip_test(const Scored& scored, std::span<const Index> rows,
                                 const Neighbours& near, double confidence,
                                 Index replicates, const Exec& exec,
                                 Bootstrap intervals = Bootstrap::percentile);

}  // namespace fmd
