#pragma once

#include <vector>

#include "fmd/metrics/confusion.h"
#include "fmd/metrics/score_curve.h"

namespace fmd {

// Inequality of what people get from a decision. The benefit of a row is
// b = decision - label + 1: 0 for a person who was wrongly refused, 1 for one who got what
// the label says, 2 for one who was wrongly chosen. With a score in place of the decision
// the benefit lies in between.
struct Benefit {
  double value = 0, rows = 0;  // value >= 0
};

[[nodiscard]] std::vector<Benefit> benefits(const Confusion& group);
[[nodiscard]] std::vector<Benefit> benefits(const ScoreRuns& runs);  // b = S - Y + 1

// Generalized entropy index with mu = mean b over n rows:
//
//   alpha other than 0, 1   1 / (n alpha (alpha - 1)) sum ((b / mu)^alpha - 1)
//   alpha = 1               1/n sum b/mu ln(b/mu)      (Theil index; 0 ln 0 = 0)
//   alpha = 0               -1/n sum ln(b/mu)          (mean log deviation)
//
// Undefined without rows, when nobody has a benefit, and for alpha <= 0 when one row has no
// benefit (the index would be infinite). Throws Error(bad_option) for negative or NaN
// values or rows.
[[nodiscard]] double generalized_entropy(const std::vector<Benefit>& benefits,
                                         double alpha = 2);
[[nodiscard]] double theil_index(const std::vector<Benefit>& benefits);  // alpha = 1
// Standard deviation / mean of b = sqrt(2 GEI(2)).
[[nodiscard]] double coefficient_of_variation(const std::vector<Benefit>& benefits);

// The part of the index that lies between groups: every row gets the mean benefit of its
// group. The rest lies within groups. groups[g]: benefits of group g; empty groups are left
// out.
[[nodiscard]] double between_group_entropy(const std::vector<std::vector<Benefit>>& groups,
                                           double alpha = 2);

}  // namespace fmd
