#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// How far two groups are apart in one input column, or in the share of one level of a
// category: the difference of their means in units of their standard deviation.
struct BalanceLine {
  std::string column, level;   // level: categories only
  std::string first, second;   // the groups: mean(first) - mean(second)
  double before = kUndefined;  // all rows of both groups
  double after = kUndefined;   // within the pairs; the same unit
};

// Each row is compared with the nearest row that has the same label and another value of
// the attribute. These are two persons, not one row changed, so they differ anyway. The
// nearest row of the same value shows by how much: that is the floor. The excess above the
// floor is due to the attribute.
struct MatchReport {
  std::string by;                    // "overlap" | "mahalanobis" | "cosine"
  std::vector<std::string> columns;  // overlap: the columns that were compared
  bool same_label = true;            // false: the rows have no labels
  Index reuse = 0;                   // how often one row may serve; 0 = no limit
  double caliper = std::numeric_limits<double>::infinity();  // as a distance
  std::vector<std::string> values;  // with enough rows to be matched
  Index rows = 0;                   // rows with one of these values and a label
  Index matched = 0;                // of these rows, those that have a pair
  Index pairs = 0;
  std::vector<std::pair<std::string, Index>> unmatched;  // why, and how many pairs
  Index partners = 0;            // different rows that serve as partner
  Index most_used = 0;           // how often the most used partner serves
  double quality = kUndefined;   // mean; 0 = like two rows at random, 1 = the same
  double distance = kUndefined;  // mean
  // Over the rows that have a partner on both sides. co - floor = excess.
  Index compared = 0;
  Interval co, floor, excess;
  double flip_rate = kUndefined, flip_rate_floor = kUndefined;  // decisions that differ
  std::vector<BalanceLine> balance;
  std::string reason;  // why nothing is matched; empty: there are pairs
};

// How many columns (or levels) are further apart than .1, the usual rule of thumb: before
// matching, and within the pairs.
inline constexpr double kImbalance = 0.1;
[[nodiscard]] std::pair<Index, Index> unbalanced(const MatchReport& report);

}  // namespace fmd
