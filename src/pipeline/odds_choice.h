#pragma once

#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/pipeline/audit.h"

namespace fmd::internal {

// The larger of the gaps of mean favourable scores between groups, among rows with a
// favourable label and among the others (equalized odds on soft scores; the largest
// difference of any two groups), for each candidate, and its change against `before`.
struct OddsIntervals {
  std::vector<Interval> value, change;
};

struct OddsRows {
  std::vector<bool> favorable;      // by label
  std::vector<std::int32_t> group;  // -1 = not counted
  Index groups = 0;
};

// score: mean p(favourable) columns, one vector for each candidate. One bootstrap for all.
[[nodiscard]] OddsIntervals odds_intervals(const Vector& before,
                                           const std::vector<Vector>& after,
                                           const OddsRows& rows,
                                           const AuditOptions& options, const Exec& exec);

}  // namespace fmd::internal
