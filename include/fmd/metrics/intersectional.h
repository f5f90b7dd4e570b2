#pragma once

#include <vector>

#include "fmd/metrics/confusion.h"

namespace fmd {

// Differential fairness of an outcome over (intersecting) groups: the smallest epsilon with
// this property: between any two groups, the probability of each outcome differs by at most
// a factor e^epsilon. Probabilities are smoothed by a Dirichlet prior,
//
//   epsilon = max_{i, j, y} |ln (k_iy + alpha) / (n_i + |Y| alpha)
//                            - ln (k_jy + alpha) / (n_j + |Y| alpha)|
//
// so that epsilon is not infinite when a small group lacks one of the outcomes.
struct DifferentialFairness {
  double epsilon = kUndefined;  // undefined with fewer than two groups that have rows
  int first = -1, second = -1;  // groups that attain it; first has the larger probability
  int outcome = -1;             // that attains it
};

// counts[g][y]: rows of group g with outcome y. Groups without rows are left out, though
// the prior would fill them. alpha = 1/2 is Jeffreys' prior; for two outcomes AIF360 calls
// it concentration 1 (= |Y| alpha). alpha = 0: not smoothed; infinite when one group lacks
// an outcome that another one has. Throws Error (bad_option for alpha < 0 or negative
// counts, bad_shape).
[[nodiscard]] DifferentialFairness differential_fairness(
    const std::vector<std::vector<double>>& counts, double alpha = 0.5);

// epsilon of the decisions, epsilon of the labels, and how much larger the first one is:
// what the model adds to the differences in the data. Over rows with a label.
struct BiasAmplification {
  DifferentialFairness decisions, labels;
  double amplification = kUndefined;  // epsilon of decisions - epsilon of labels
};
[[nodiscard]] BiasAmplification bias_amplification(const std::vector<Confusion>& groups,
                                                   double alpha = 0.5);

// Subgroup fairness ("fairness gerrymandering"): the largest
// weight x |rate of the group - rate of all|, so that small groups count little. concerned:
// weight = rows of the group that the rate is about (for fpr: with an unfavourable label) /
// all rows, the definition of Kearns et al. all_rows: weight = rows of the group / all
// rows.
enum class SubgroupWeight { concerned, all_rows };
struct SubgroupFairness {
  double value = kUndefined;
  int group = -1;                  // that attains it
  double weight = kUndefined;      // of this group
  double difference = kUndefined;  // rate of this group - rate of all
};
// Throws Error(bad_option) for a rate that is not a share of rows.
[[nodiscard]] SubgroupFairness subgroup_fairness(
    const RateInfo& rate, const std::vector<Confusion>& groups,
    SubgroupWeight weight = SubgroupWeight::concerned);

}  // namespace fmd
