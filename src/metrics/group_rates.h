#pragma once

#include <string>
#include <vector>

#include "fmd/metrics/group.h"
#include "fmd/metrics/tally.h"

namespace fmd {

// value +- z times the spread of the replicates: for levels whose quantiles lie beyond
// them. Undefined ends where fewer than half of them are defined.
[[nodiscard]] Interval from_spread(double value, const std::vector<double>& replicates,
                                   double confidence);

// Of how many rows, and how many of them hit: effective numbers where rows have weights.
struct RateCount {
  double hits = 0, of = 0;
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

struct Rates {
  Rate selection, tpr, fpr, accuracy;
};

// Rates of every group of a tally; fills the report's groups too.
[[nodiscard]] Rates count_rates(const TallyPlan& plan,
                                const std::vector<GroupTally>& tallies,
                                const std::vector<std::string>& values,
                                const GroupOptions& options, std::vector<Group>& groups);

// Mean score of the favourable class: of all rows, and of rows with a favourable label.
struct SoftRates {
  Rate all, positives;
};
[[nodiscard]] SoftRates soft_rates(const Tally& tally, std::span<const Index> attributes,
                                   const std::vector<GroupTally>& tallies,
                                   const std::vector<std::string>& values,
                                   const Rates& rates, const GroupOptions& options,
                                   const Exec& exec);

// Sums of hits and of weights as rows that count alike: share * n of n = (sum w)^2 / sum
// w^2.
[[nodiscard]] RateCount effective(double hits, double of, double squares);

// One code a row, each -1 or below `values`. Throws Error(bad_shape).
void require_codes(const char* where, const std::vector<std::int32_t>& code, Index rows,
                   Index values);

}  // namespace fmd
