#pragma once

#include <string>
#include <vector>

#include "fmd/metrics/group.h"

namespace fmd {

struct RateCount {
  Index hits = 0, of = 0;
};

// One rate of every group: counts with Newcombe's differences, or, where `replicates` is
// filled, a mean with its bootstrap (groups x replicates; groups are resampled apart, so
// columns pair freely).
struct Rate {
  std::string name;
  std::string reason;  // why no group has it; empty = it can be compared
  std::string needs;   // ">= 100 rows"
  std::vector<RateCount> counts;
  std::vector<bool> large;  // the group has what is needed
  Vector means;
  Matrix replicates;

  [[nodiscard]] bool enough(int group) const {
    return group >= 0 && large[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] double value(int group) const;
  [[nodiscard]] Interval difference(int first, int second, double confidence) const;
};

struct Rates {
  Rate selection, tpr, fpr, accuracy;
};

// Counts every group in one pass; fills the groups too.
[[nodiscard]] Rates count_rates(const Scored& scored,
                                const std::vector<std::string>& values,
                                const std::vector<std::int32_t>& code,
                                const GroupOptions& options, std::vector<Group>& groups);

// Mean score of the favourable class: of all rows, and of rows with a favourable label.
struct SoftRates {
  Rate all, positives;
};
[[nodiscard]] SoftRates soft_rates(const Scored& scored,
                                   const std::vector<std::string>& values,
                                   const std::vector<std::int32_t>& code,
                                   const Rates& rates, const GroupOptions& options,
                                   const Exec& exec);

// One code a row, each -1 or below `values`. Throws Error(bad_shape).
void require_codes(const char* where, const std::vector<std::int32_t>& code, Index rows,
                   Index values);

}  // namespace fmd
