#pragma once

#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Methods that leave the trained model alone and change its answers by group. All of them
// need the attribute when they answer.

// Rows as post-processing sees them.
struct PostRows {
  std::vector<double> score;            // p of the favourable class
  std::vector<std::uint8_t> favorable;  // the label is the favourable one
  std::vector<std::int32_t> group;      // from 0; -1 = not known: such rows are not fitted
  [[nodiscard]] Index size() const { return static_cast<Index>(score.size()); }
};

// ---- Equalised odds (Hardt, Price and Srebro 2016)
//
// With y' the decision, g the group: a favourable decision is kept with probability
// keep[g], an unfavourable one turned with probability grant[g]. These minimise the sum
// over both groups of FPR + FNR, not weighted by their sizes, subject to equal TPR and
// equal FPR:
//
//   min sum_g (fpr_g - tpr_g) keep_g + (tnr_g - fnr_g) grant_g
//   tpr_0 keep_0 + fnr_0 grant_0 = tpr_1 keep_1 + fnr_1 grant_1
//   fpr_0 keep_0 + tnr_0 grant_0 = fpr_1 keep_1 + tnr_1 grant_1,   all in [0, 1]
//
// Four unknowns and two equations: the vertices are enumerated, so the answer is exact.
struct EqualizedOdds {
  double keep[2] = {1, 1}, grant[2] = {0, 0};
  double objective = 0;  // of the program above; FPR + FNR of both groups less a constant
  bool unique = true;    // else: of all best vertices, the one that changes fewest answers

  // Probability that the answer is the favourable one.
  [[nodiscard]] double yes(bool decided, std::int32_t group) const;
};
// decided: the model's favourable decisions. Throws Error(bad_shape; bad_data: a group
// without a favourable or without an unfavourable label).
[[nodiscard]] EqualizedOdds fit_equalized_odds(const PostRows& rows,
                                               const std::vector<std::uint8_t>& decided);

// ---- Calibrated equalised odds (Pleiss et al. 2017)
//
// The group of lower cost has a share `mix` of its scores replaced by its base rate b,
// until the expected costs are equal: mix = (cost_other - cost) / (trivial - cost). Costs:
// "fpr" mean score of the rows with an unfavourable label, "fnr" mean 1 - score of the
// others, "weighted" (1 - b) fpr / 2 + b fnr / 2.
struct CalibratedOdds {
  double mix[2] = {0, 0};  // as the formula gives it: beyond 1 no mixing equals them
  double base_rate[2] = {0, 0};
  double cost[2] = {0, 0}, trivial[2] = {0, 0};

  [[nodiscard]] double share(std::int32_t group) const;  // mix cut off to [0, 1]
  // Expected score, and probability that the answer is favourable at this threshold.
  [[nodiscard]] double score(double score, std::int32_t group) const;
  [[nodiscard]] double yes(double score, std::int32_t group, double threshold) const;
};
// Throws Error(bad_option: cost; bad_shape; bad_data).
[[nodiscard]] CalibratedOdds fit_calibrated_odds(const PostRows& rows,
                                                 const std::string& cost = "weighted");

// ---- Reject option (Kamiran, Karim and Zhang 2012), with AIF360's search
struct RejectOptions {
  double low = 0.01, high = 0.99;  // thresholds t, evenly spaced; 0 <= low < high <= 1
  Index thresholds = 100;
  Index margins = 50;  // m from 0 to min(t, 1 - t), for every t
  // Group 0 minus group 1: statistical_parity, average_odds or equal_opportunity.
  std::string metric = "statistical_parity";
  double lower = -0.05, upper = 0.05;
  int privileged = 1;  // the group that the critical region speaks against
};

// Scores in (t - m, t + m] get the favourable answer in the unprivileged group and the
// unfavourable one in the other; elsewhere favourable above t.
struct RejectOption {
  double threshold = 0.5, margin = 0;
  double metric = 0, balanced_accuracy = 0;  // on the rows that it was fitted on
  bool satisfied = false;                    // the metric is within its bounds
  int privileged = 1;

  [[nodiscard]] bool yes(double score, std::int32_t group) const;
};
// The cell of the grid with the highest balanced accuracy among those whose metric is
// within the bounds, the first of equals; when there is none, the one of smallest metric,
// sign and all, as AIF360 does. Scores are sorted once; a cell costs a few binary searches.
// Throws Error(bad_option; bad_shape; bad_data: a group or a label without rows).
[[nodiscard]] RejectOption fit_reject_option(const PostRows& rows,
                                             const RejectOptions& options = {});

// ---- One threshold per group
//
// criterion  "demographic_parity": every group has the same share of favourable answers;
//            "equal_opportunity": the same share among favourable labels; both as near as
//            ties allow, at the common share of 0, .001, .. 1 that is most accurate;
//            "accuracy": each group's own most accurate threshold.
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
