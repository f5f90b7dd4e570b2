#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/nearest.h"
#include "fmd/model/rows.h"

namespace fmd {

struct MatchOptions {
  Distance distance = Distance::euclidean;
  double scale = 1;        // overlap: see NearestOptions
  bool skip_self = false;  // a row is not its own partner
  Index reuse = 5;         // how often one candidate may serve; 0 = no limit
  double caliper = std::numeric_limits<double>::infinity();  // no pair further apart
};

enum class MatchOutcome : std::uint8_t {
  matched,
  no_candidate,  // there is no row to match with
  too_far,       // the nearest is beyond the caliper
  used_up,       // all candidates within the caliper already serve other queries
};

// One partner for each query, or none.
struct Matches {
  std::vector<Index> partner;    // row of candidates.X; -1: none
  std::vector<double> distance;  // infinite: none
  std::vector<MatchOutcome> outcome;
};

// Pairs are made greedily. The next pair is always the one with the smallest distance,
// among all pairs of a query and a candidate that may still serve. Ties are decided by the
// query's and the candidate's place. Exact: lists of near candidates are extended when they
// run out. Without the limit on reuse, one candidate in the middle of the others serves
// hundreds of queries, and a figure over thousands of pairs depends on a few rows. Throws
// what nearest() throws, and Error(bad_option).
[[nodiscard]] Matches match_rows(const Rows& queries, const Rows& candidates,
                                 const MatchOptions& options, const Exec& exec);

}  // namespace fmd
