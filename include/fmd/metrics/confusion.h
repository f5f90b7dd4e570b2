#pragma once

#include <string_view>
#include <vector>

#include "fmd/metrics/interval.h"

namespace fmd {

// Counts (or sums of weights) of one group's rows by label and decision. positive = the
// favourable class. Rows without a label count only for how often the group is selected.
struct Confusion {
  double tp = 0, fp = 0, tn = 0, fn = 0;
  double selected_unlabelled = 0, rejected_unlabelled = 0;

  [[nodiscard]] double positives() const { return tp + fn; }  // by label
  [[nodiscard]] double negatives() const { return tn + fp; }
  [[nodiscard]] double labelled() const { return tp + fp + tn + fn; }
  [[nodiscard]] double rows() const {
    return labelled() + selected_unlabelled + rejected_unlabelled;
  }
  [[nodiscard]] double selected() const { return tp + fp + selected_unlabelled; }
  void add(const Confusion& other);  // both groups together
};

// The rate is hits / of; undefined (NaN) for 0 of 0.
struct Share {
  double hits = 0, of = 0;
  [[nodiscard]] double value() const { return of == 0 ? kUndefined : hits / of; }
};

// A rate of one group.
struct RateInfo {
  const char* name;     // "tpr": used in reports and on the command line
  const char* title;    // "true positive rate"
  const char* formula;  // "TP / (TP + FN)"
  double (*value)(const Confusion&);
  Share (*share)(const Confusion&);  // null: not a share of rows (f1), no Wilson interval
};

// Shares of rows: base_rate, selection_rate, tpr, tnr, fpr, fnr, ppv, npv, fdr, for,
// accuracy, error_rate. Others: balanced_accuracy, f1, mcc, fn_fp_ratio,
// conditional_acceptance, conditional_rejection. docs/metrics.md describes them all.
[[nodiscard]] const std::vector<RateInfo>& group_rates();
[[nodiscard]] const RateInfo* find_rate(std::string_view name);  // null: no such rate

// A comparison of two groups: u (unprivileged) and p (privileged).
struct CriterionInfo {
  const char* name;
  const char* title;
  const char* formula;
  bool ratio;  // 1 for equal groups, not 0; undefined where it divides by 0
  double (*value)(const Confusion& u, const Confusion& p);
  // The criterion is rate(u) - rate(p) or rate(u) / rate(p) of this rate; null: it uses
  // several rates.
  const char* rate;
  bool turned;  // the criterion is rate(p) - rate(u)
};

// Differences are u - p unless the formula says otherwise: criteria of another tool keep
// that tool's sign. docs/metrics.md describes them all.
[[nodiscard]] const std::vector<CriterionInfo>& group_criteria();
[[nodiscard]] const CriterionInfo* find_criterion(std::string_view name);

// Wilson's interval of a share. The ends are undefined where the counts are not whole
// numbers: sums of weights have no binomial distribution.
[[nodiscard]] Interval share_interval(const Share& share, double confidence);
// first - second by Newcombe, and first / second by rate_ratio(). Whole numbers here too.
[[nodiscard]] Interval share_difference(const Share& first, const Share& second,
                                        double confidence);
[[nodiscard]] Interval share_ratio(const Share& first, const Share& second,
                                   double confidence);

// The criterion with its interval where that has a closed form: Newcombe's for a difference
// of two shares, rate_ratio() for a ratio of two. Otherwise the ends are undefined;
// bca_criterion() (bca.h) computes them.
[[nodiscard]] Interval criterion_interval(const CriterionInfo& criterion,
                                          const Confusion& u, const Confusion& p,
                                          double confidence);

// Predicted positive rate of Aequitas: the part of all selected rows that is in each group.
// Undefined where no row is selected.
[[nodiscard]] std::vector<double> selected_shares(const std::vector<Confusion>& groups);

}  // namespace fmd
