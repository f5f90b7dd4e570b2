#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/metrics/group.h"
#include "fmd/metrics/tally.h"
#include "metrics/statistics/rate_count.h"

namespace fmd::internal {

// One rate of every group: counts, whose differences have Newcombe's interval. Where
// `replicates` is filled: a mean with its bootstrap (groups x replicates; groups are
// resampled separately, so columns pair freely).
struct GroupRate {
  std::string name;
  std::string reason;  // why no group has it; empty = it can be compared
  std::string needs;   // ">= 100 rows"
  std::vector<RateCount> counts;
  std::vector<bool> large;  // the group has what is needed
  Vector means;
  Matrix replicates;
  // For BCa of a difference of means: sums over a group's rows of their squared and cubed
  // influence, (x - mean) / rows.
  Vector squares, cubes;
  Bootstrap intervals = Bootstrap::percentile;

  [[nodiscard]] bool enough(int group) const {
    return group >= 0 && large[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] double value(int group) const;
  [[nodiscard]] Interval difference(int first, int second, double confidence) const;
};

struct GroupRates {
  GroupRate selection, tpr, fpr, accuracy;
};

// Rates of every group of a tally. Also fills the groups of a report.
[[nodiscard]] GroupRates count_rates(const TallyPlan& plan,
                                     const std::vector<GroupTally>& tallies,
                                     const std::vector<std::string>& values,
                                     const GroupOptions& options,
                                     std::vector<Group>& groups);

}  // namespace fmd::internal
