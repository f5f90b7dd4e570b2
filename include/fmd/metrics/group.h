#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/group_change.h"
#include "fmd/metrics/interval.h"
#include "fmd/metrics/limit_sense.h"
#include "fmd/metrics/scored.h"
#include "fmd/metrics/tally.h"

namespace fmd {

struct GroupOptions {
  double confidence = 0.95;
  Index replicates = 2000;
  Index min_rows = 100;  // smaller groups are listed, not compared
  Index min_label = 20;  // fewer favourable labels: no TPR; fewer unfavourable: no FPR
  // The value that the others are compared against. -1 = none is named: measures look at
  // all pairs, and comparisons start from `usual`, or from the largest group.
  int reference = -1;
  int usual = -1;
  bool by_name = true;  // also the rates and measures of group_measure_names()
  Bootstrap intervals = Bootstrap::percentile;  // of bootstrapped figures
  Index permutations = 0;                       // for the tests of gaps; 0 = no tests
};

// A figure by name. Where it is undefined, the reason says why.
struct Figure {
  std::string name;
  Interval value;
  std::string reason;
};

// Rates of one group, all for the favourable class. selection_rate: rows that were decided
// favourably; tpr: the same among rows with a favourable label; fpr: among rows with
// another label. Intervals are Wilson's. Undefined stays undefined.
struct Group {
  std::string value;
  Index rows = 0, positives = 0, negatives = 0;  // by label; 0 without labels
  double effective_rows = 0;  // (sum w)^2 / sum w^2: the number of rows without weights
  Interval selection_rate, tpr, fpr, accuracy;
  double mean_score = kUndefined;  // mean p(favourable)
  bool compared = false;           // has min_rows (effective) rows
  std::vector<Figure> rates;       // of group_rates(), then of score_metrics()
  // Not shown, see masked() in report/mask.h: everything, or what would reveal labels.
  bool masked = false, labels_masked = false;
};

// Two groups. first is the reference, except in GroupMeasure::widest.
//   rate of a group   difference = rate(first) - rate(second)
//   criterion         difference = criterion(u = second, p = first): rate(second) -
//                     rate(first) for most differences, rate(second) / rate(first) for
//                     ratios; see the formula of the criterion
//   score figure      difference = figure(u = second, p = first)
struct Comparison {
  int first = 0, second = 0;
  // "selection_rate", "tpr", "fpr", "accuracy", "mean_score"; or the name of the criterion
  // or of the score figure.
  std::string rate;
  Interval difference;           // adjusted for the number of comparisons of this measure
  double p_value = kUndefined;   // by permutation of the groups; undefined: not tested
  double adjusted = kUndefined;  // by Holm, over the comparisons of this measure
};

// A group measure: the reference against each other group that is large enough, and the
// widest of all pairs.
struct GroupMeasure {
  std::string name;  // "demographic_parity", "equal_opportunity", ...
  // Of a named reference: the comparison that is farthest from equality; turned so that
  // value >= 0, but figures by name keep the sign of their formula. Without one: widest.
  Interval value;
  std::vector<Comparison> comparisons;  // of the reference with the others, in their order
  int farthest = -1;                    // the comparison that is farthest; -1 = none
  // The pair of groups that is farthest from equality, turned so that a difference is
  // >= 0 and a ratio <= 1. Its interval is that of the largest gap of any pair: the ends
  // are the largest ones over all pairs, each adjusted for their number. So it holds
  // whichever pair the sample shows as the widest.
  Comparison widest;
  Index pairs = 0;              // number of all pairs
  std::string reason;           // why it is undefined; empty when it is defined
  bool by_name = false;         // one of the figures by name
  std::string about;            // the groups that decide it; empty = see comparisons
  double p_value = kUndefined;  // the adjusted p-value of the farthest comparison

  [[nodiscard]] const Comparison* behind_value() const;  // the farthest; null = none
};

struct GroupReport {
  std::string attribute;      // "sex", or "sex x race"
  std::vector<Group> groups;  // in order of values; also small ones
  int reference = -1;
  bool named = false;  // the reference was named; otherwise measures look at all pairs
  // Smallest / largest selection rate of the compared groups; its ends are the smallest
  // ones of rate_ratio() over all pairs, adjusted for their number.
  Interval selection_ratio;
  std::vector<GroupMeasure> measures;
  Interval worst_group_accuracy;  // of the least accurate group, whichever it is
  int worst_group = -1;
  Index rows_without_group = 0;  // attribute missing

  [[nodiscard]] const GroupMeasure* find(const std::string& measure) const;
};

// Measures: demographic_parity (selection_rate), equal_opportunity (tpr), equalized_odds
// (the larger of the tpr and fpr differences; both count as comparisons and as pairs),
// accuracy_difference; demographic_parity_soft and equal_opportunity_soft use mean scores
// in place of decisions. Differences of rates have Newcombe's interval. Differences of mean
// scores have the interval of a bootstrap of the rows within each group. Where an adjusted
// level leaves fewer than 5 replicates in a tail, it is value +- z times their spread.
//
// Then come the figures by name (docs/audit.md). Every criterion of group_criteria():
// each other group (as u) against the reference (as p); value = the one farthest from 0
// (ratios: from 1). Figures of all compared groups together: differential fairness,
// subgroup fairness, entropy of benefits, accuracy by label and group. For one attribute,
// comparisons of scores: auc_difference, abroca, ks_distance.
//
// Shares have Wilson's and Newcombe's intervals, others the bootstrap of the groups'
// tables. Figures of scores have value +- z times the spread of 200 replicates of a
// histogram of 50 bins, or BCa of these where `intervals` asks for it (from at least
// `replicates` of them). Beyond 300 compared groups the tables are not bootstrapped:
// figures that need it have no interval there.
//
// Undefined measures have a reason: "no labels"; "no favourable class" (all measures except
// those of accuracy); "fewer than two groups have >= 100 rows" (for measures of labels also
// >= 20 favourable or unfavourable labels); "the reference group X does not have ...".
//
// From a tally: the groups of one attribute, or of two (the second one runs faster). Mean
// scores are bootstrapped from the rows while the tally keeps them (replicates x rows
// draws). Otherwise they come from their moments, or from their histogram where rare large
// scores keep the sums from being normal. Weighted tallies: rates are shares of weights,
// and intervals are those of the effective number of rows. This number must reach min_rows
// and min_label too. Throws Error (bad_shape, bad_option).
[[nodiscard]] GroupReport group_report(const Tally& tally,
                                       std::span<const Index> attributes,
                                       const std::string& name,
                                       const std::vector<std::string>& values,
                                       const GroupOptions& options, const Exec& exec);
// The same from arrays, for one attribute.
[[nodiscard]] GroupReport group_report(const Scored& scored, const std::string& attribute,
                                       const std::vector<std::string>& values,
                                       const std::vector<std::int32_t>& code,
                                       const GroupOptions& options, const Exec& exec);

// The names of all measures that a report can have, in their order.
[[nodiscard]] const std::vector<std::string>& group_measure_names();

}  // namespace fmd
