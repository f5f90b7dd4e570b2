#pragma once

#include <functional>
#include <span>

#include "core/internal.h"
#include "fmd/metrics/head_scores.h"

namespace fmd::internal {

// What score_rows() makes of the rows' probabilities.
[[nodiscard]] Scored scored_rows(Matrix p, const Rows& rows, double threshold,
                                 int favorable);

// score_pairs() of each theta, bit for bit, one after the other: use(k, scores of
// thetas[k]). Rows are read once for many thetas where that is possible.
void score_pairs_of_each(const Head& head, std::span<const Vector* const> thetas,
                         const PairSet& pairs, double threshold, const Exec& exec,
                         const std::function<void(std::size_t, PairScores)>& use);

}  // namespace fmd::internal
