#pragma once

#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/scored.h"
#include "fmd/metrics/tally.h"

namespace fmd {

struct GroupOptions {
  double confidence = 0.95;
  Index replicates = 2000;
  Index min_rows = 100;  // smaller groups are listed, not compared
  Index min_label = 20;  // fewer favourable labels: no TPR; fewer unfavourable: no FPR
  int reference = -1;  // value that the others are compared against; -1 = the largest group
  bool by_name = true;  // also the rates and measures of group_measure_names()
  Bootstrap intervals = Bootstrap::percentile;  // of what is bootstrapped
  Index permutations = 0;                       // of the tests of gaps; 0 = none
};

// A figure by name; where it is undefined, the reason.
struct Figure {
  std::string name;
  Interval value;
  std::string reason;
};

// Rates of one group, all for the favourable class: selection = decided favourable, tpr =
// of those with a favourable label, fpr = of the others. Intervals are Wilson's. Undefined
// stays undefined.
struct Group {
  std::string value;
  Index rows = 0, positives = 0, negatives = 0;  // by label; 0 without labels
  double effective_rows = 0;  // (sum w)^2 / sum w^2: the number of rows without weights
  Interval selection_rate, tpr, fpr, accuracy;
  double mean_score = kUndefined;  // mean p(favourable)
  bool compared = false;           // has min_rows (effective) rows
  std::vector<Figure> rates;       // of group_rates(), then of score_metrics()
  // Kept out of what is shown, see masked() in audit_report.h: everything, or what tells
  // labels.
  bool masked = false, labels_masked = false;
};

// rate(first) - rate(second).
struct Comparison {
  int first = 0, second = 0;
  std::string rate;              // "selection_rate", "tpr", "fpr", "accuracy", "mean_score"
  Interval difference;           // adjusted for the number of comparisons of this measure
  double p_value = kUndefined;   // by permutation of the groups; undefined: not tested
  double adjusted = kUndefined;  // by Holm, over the comparisons of this measure
};

// How a limit on a measure is meant: sizes are at most the limit; ratios lie between it and
// 1 / limit; accuracies are at least the limit.
enum class LimitSense { at_most, ratio, at_least };
[[nodiscard]] LimitSense limit_sense(const std::string& measure);  // by its name

// A group measure: the reference against each other group that is large enough.
struct GroupMeasure {
  std::string name;  // "demographic_parity", "equal_opportunity", ...
  Interval value;    // the comparison of largest size, turned so that value >= 0
  std::vector<Comparison> comparisons;  // reference - other, in order of groups
  Comparison widest;                    // the widest pair of all, adjusted for all pairs
  Index pairs = 0;                      // number of all pairs
  std::string reason;                   // why it is undefined; empty when it is defined
  // Of the figures by name: value keeps the sign of its formula, and there is no widest
  // pair.
  bool by_name = false;
  std::string about;            // the groups that decide it; empty = see comparisons
  double p_value = kUndefined;  // adjusted one of the comparison that value is of
};

struct GroupReport {
  std::string attribute;      // "sex", or "sex x race"
  std::vector<Group> groups;  // in order of values; small ones too
  int reference = -1;
  Interval selection_ratio;  // smallest / largest selection rate of the compared groups, by
                             // rate_ratio(), adjusted for the number of their pairs
  std::vector<GroupMeasure> measures;
  Interval worst_group_accuracy;  // least accurate compared group, with its own interval
  int worst_group = -1;
  Index rows_without_group = 0;  // attribute missing

  [[nodiscard]] const GroupMeasure* find(const std::string& measure) const;
};

// Measures: demographic_parity (selection_rate), equal_opportunity (tpr), equalized_odds
// (the larger of tpr and fpr differences: both count as comparisons and as pairs),
// accuracy_difference; demographic_parity_soft and equal_opportunity_soft, from mean scores
// in place of decisions. Differences of rates by Newcombe; of mean scores by bootstrap of
// the rows within each group (where an adjusted level leaves fewer than 5 replicates in a
// tail: value +- z times their spread).
//
// Then every criterion of group_criteria(), each other group (as u) against the reference
// (as p), value = the farthest from 0 (ratios: from 1); and figures of all compared groups
// together, by name (docs/audit.md): differential fairness, subgroup fairness, entropy of
// benefits, accuracy by label and group, score metrics. Shares have Wilson's and Newcombe's
// intervals, others the bootstrap of the groups' tables; score metrics value +- z times the
// spread of 200 replicates of a histogram of 50 bins. Beyond 300 compared groups only
// shares have intervals.
//
// Undefined measures carry a reason: "no labels"; "no favourable class" (all but
// accuracy_difference); "fewer than two groups have >= 100 rows" (for label measures also
// >= 20 favourable or unfavourable labels); "the reference group X does not have ...".
//
// From a tally: of the groups of one attribute, or of two (the second runs faster).
// Mean scores are bootstrapped from the rows while the tally keeps them (replicates x rows
// draws), else from their moments, or from their histogram where rare large scores do not
// let sums be normal. Weighted tallies: rates are shares of weights, intervals those of the
// effective number of rows, and that of a group must reach min_rows and min_label too.
// Throws Error (bad_shape, bad_option).
[[nodiscard]] GroupReport group_report(const Tally& tally,
                                       std::span<const Index> attributes,
                                       const std::string& name,
                                       const std::vector<std::string>& values,
                                       const GroupOptions& options, const Exec& exec);
// The same of arrays, for one attribute.
[[nodiscard]] GroupReport group_report(const Scored& scored, const std::string& attribute,
                                       const std::vector<std::string>& values,
                                       const std::vector<std::int32_t>& code,
                                       const GroupOptions& options, const Exec& exec);

// The names of all measures that a report can have, in their order.
[[nodiscard]] const std::vector<std::string>& group_measure_names();

// after - before of a group difference (rate(first) - rate(second)) on the same rows, by
// multinomial bootstrap on the table group x label x decision before x decision after;
// "mean_score" by bootstrap of the rows. Undefined where a group has no row that the rate
// is about. Throws Error (bad_shape, bad_option).
[[nodiscard]] Interval group_difference_change(const Scored& before, const Scored& after,
                                               const std::vector<std::int32_t>& code,
                                               int first, int second,
                                               const std::string& rate, double confidence,
                                               Index replicates, const Exec& exec);

}  // namespace fmd
