#pragma once

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/counterfactual.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd {

// The scores of a head, in the form that metrics take. threshold: two classes only.

[[nodiscard]] Scored score_rows(const Head& head, const Vector& theta, const Rows& rows,
                                double threshold, int favorable, const Exec& exec);
// Pairs of one row are adjacent and share c: each row is scored once.
[[nodiscard]] PairScores score_pairs(const Head& head, const Vector& theta,
                                     const PairSet& pairs, double threshold,
                                     const Exec& exec);

}  // namespace fmd
