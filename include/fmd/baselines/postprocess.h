#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Methods that leave the trained model as it is and change its answers by group. All of
// them need the attribute when they answer.

// Rows as post-processing sees them.
struct PostRows {
  std::vector<double> score;            // p of the favourable class
  std::vector<std::uint8_t> favorable;  // the label is the favourable one
  std::vector<std::int32_t> group;      // from 0; -1 = not known: such rows are not fitted
  [[nodiscard]] Index size() const { return static_cast<Index>(score.size()); }
};

// ---- Equalised odds (Hardt, Price and Srebro 2016)
//
// In group g, a favourable decision is kept with probability keep[g], and an unfavourable
// one is turned into a favourable one with probability grant[g]. These minimise the sum of
// FPR + FNR over both groups, not weighted by the sizes of the groups, subject to equal TPR
// and equal FPR:
//
//   min sum_g (fpr_g - tpr_g) keep_g + (tnr_g - fnr_g) grant_g
//   tpr_0 keep_0 + fnr_0 grant_0 = tpr_1 keep_1 + fnr_1 grant_1
//   fpr_0 keep_0 + tnr_0 grant_0 = fpr_1 keep_1 + tnr_1 grant_1,   all in [0, 1]
//
// There are four unknowns and two equations. The vertices are enumerated, so the result is
// exact.
struct EqualizedOdds {
  double keep[2] = {1, 1}, grant[2] = {0, 0};
  double objective = 0;  // of the program above: FPR + FNR of both groups minus a constant
  bool unique = true;    // false: this is the best vertex that changes the fewest answers

  // Probability that the answer is the favourable one.
  [[nodiscard]] double yes(bool decided, std::int32_t group) const {
    if (group < 0) return decided ? 1 : 0;
    return decided ? keep[group] : grant[group];
  }
};
// decided: the model's favourable decisions. Throws Error(bad_shape; bad_data: a group
// without a favourable or without an unfavourable label).
[[nodiscard]] EqualizedOdds fit_equalized_odds(const PostRows& rows,
                                               const std::vector<std::uint8_t>& decided);

// ---- Calibrated equalised odds (Pleiss et al. 2017)
//
// In the group of lower cost, a share `mix` of the scores is replaced by the base rate b of
// the group, so that the expected costs become equal:
//   mix = (cost_other - cost) / (trivial - cost).
// Costs: "fpr" is the mean score of the rows with an unfavourable label, "fnr" the mean of
// 1 - score of the others, "weighted" is (1 - b) fpr / 2 + b fnr / 2.
struct CalibratedOdds {
  double mix[2] = {0, 0};  // by the formula; above 1, no mixing makes the costs equal
  double base_rate[2] = {0, 0};
  double cost[2] = {0, 0}, trivial[2] = {0, 0};

  // mix, limited to [0, 1]
  [[nodiscard]] double share(std::int32_t group) const {
    if (group < 0 || std::isnan(mix[group])) return 0;
    return std::clamp(mix[group], 0.0, 1.0);
  }
  // The expected score, and the probability of a favourable answer at this threshold.
  [[nodiscard]] double score(double score, std::int32_t group) const;
  [[nodiscard]] double yes(double score, std::int32_t group, double threshold) const {
    const double decided = score >= threshold ? 1 : 0;
    if (group < 0) return decided;
    const double mixed = share(group);
    return (1 - mixed) * decided + (base_rate[group] >= threshold ? mixed : 0);
  }
};
// Throws Error(bad_option: cost; bad_shape; bad_data).
[[nodiscard]] CalibratedOdds fit_calibrated_odds(const PostRows& rows,
                                                 const std::string& cost = "weighted");

// ---- Reject option (Kamiran, Karim and Zhang 2012), with AIF360's search
struct RejectOptions {
  double low = 0.01, high = 0.99;  // of the thresholds t; 0 <= low < high <= 1
  Index thresholds = 100;
  Index margins = 50;  // m from 0 to min(t, 1 - t), for every t; both evenly spaced
  // The other group minus the privileged one: statistical_parity, average_odds or
  // equal_opportunity.
  std::string metric = "statistical_parity";
  double lower = -0.05, upper = 0.05;  // bounds of the metric
  int privileged = 1;  // the group that gets unfavourable answers in the critical region
};

// Scores in (t - m, t + m], the critical region, get the unfavourable answer in the
// privileged group and the favourable answer in the other. Elsewhere the answer is
// favourable above t.
struct RejectOption {
  double threshold = 0.5, margin = 0;
  double metric = 0, balanced_accuracy = 0;  // on the rows that it was fitted on
  bool satisfied = false;                    // the metric is within its bounds
  int privileged = 1;

  [[nodiscard]] bool yes(double score, std::int32_t group) const;
};
// Among the cells of the grid whose metric is within the bounds: the one with the highest
// balanced accuracy, the first of equals. When there is none: the cell with the lowest
// metric (not its size: -.3 is lower than .1), as in AIF360. Scores are sorted once; a cell
// costs a few binary searches.
// Throws Error(bad_option; bad_shape; bad_data: a group or a label without rows).
[[nodiscard]] RejectOption fit_reject_option(const PostRows& rows,
                                             const RejectOptions& options = {});

// ---- One threshold per group
//
// criterion  "demographic_parity": every group has the same share of favourable answers;
//            "equal_opportunity": the same share among favourable labels. Both as near as
//            ties allow, at the common share of 0, .001, .. 1 that is most accurate;
//            "accuracy": each group has its own most accurate threshold.
struct GroupThresholds {
  std::vector<double> threshold;  // favourable at score >= threshold[g]
  double fallback = 0.5;          // for rows whose group is not known
  double share = 0;               // the common share; NaN for "accuracy"
  double accuracy = 0;            // on the rows that it was fitted on

  [[nodiscard]] bool yes(double score, std::int32_t group) const;
};
// Throws Error(bad_option, bad_shape; bad_data: a group without rows, or without favourable
// labels).
[[nodiscard]] GroupThresholds fit_group_thresholds(const PostRows& rows, Index groups,
                                                   const std::string& criterion,
                                                   double fallback = 0.5);

}  // namespace fmd
