#pragma once

#include <cstdint>
#include <vector>

#include "core/internal.h"
#include "fmd/repair/choice.h"

namespace fmd::internal {

// Which labels a gap between groups looks at: all together, the favourable ones, or both
// kinds apart, the wider one.
enum class GapLabels { together, favorable, both };

// A figure of each candidate, and its paired change against the original.
struct CandidateIntervals {
  std::vector<Interval> value, change;
};

// The attribute's values with at least min_rows rows, numbered from 0; others -1.
struct LargeGroups {
  std::vector<std::int32_t> code;
  Index count = 0;
};
[[nodiscard]] LargeGroups large_groups(const GroupCodes& attribute, Index min_rows);

// The larger of the gaps of mean favourable scores between large groups of a repaired
// attribute, among rows with a favourable label and among the others (equalized odds on
// soft scores; the largest difference of any two groups), on the hold-out; or the gap of
// other labels. before, after: p(favourable) of each row, or 1 where it is decided. One
// bootstrap for all candidates.
[[nodiscard]] CandidateIntervals odds_intervals(const HeadProblem& problem,
                                                std::size_t repaired, const Vector& before,
                                                const std::vector<Vector>& after,
                                                GapLabels labels,
                                                const IntervalOptions& options,
                                                const Exec& exec);

}  // namespace fmd::internal
