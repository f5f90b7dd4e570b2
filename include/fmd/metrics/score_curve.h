#pragma once

#include <string_view>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/metrics/interval.h"

namespace fmd {

// How often a score occurs, by label. The runs of one group, in rising order of scores, are
// all that the score metrics need. They come from the rows (exact) or from a histogram
// (within known bounds).
struct ScoreRun {
  double score = 0;
  Index positive = 0, negative = 0;
};
using ScoreRuns = std::vector<ScoreRun>;

// Exact: one run for each distinct score. Cost: one sort. Throws Error (bad_shape;
// bad_value for scores outside [0, 1] or NaN).
[[nodiscard]] ScoreRuns score_runs(const std::vector<double>& score,
                                   const std::vector<bool>& positive);

// Counts over equal bins of [0, 1]: constant memory for any number of rows. Histograms can
// be added in any order with the same result. Bin of s: floor(s bins); the last one for s
// = 1.
struct ScoreHistogram {
  std::vector<Index> positive, negative;

  explicit ScoreHistogram(Index bins = 1000);  // throws Error(bad_option) below 1
  void add(double score, bool is_positive);    // throws Error(bad_value) outside [0, 1]
  void merge(const ScoreHistogram& other);     // throws Error(bad_shape)
  void save(ByteWriter& out) const;
  [[nodiscard]] static ScoreHistogram load(ByteReader& in);  // throws Error(bad_model)
  [[nodiscard]] Index bins() const { return static_cast<Index>(positive.size()); }
};

// All rows of a bin get the score of its middle.
[[nodiscard]] ScoreRuns score_runs(const ScoreHistogram& histogram);

// Each is undefined where it has no rows. P, N: rows with favourable and other labels.
[[nodiscard]] double auc(const ScoreRuns& runs);  // ties count half
// Sum over falling scores of (recall gained) x precision there (scikit-learn's definition).
[[nodiscard]] double average_precision(const ScoreRuns& runs);
// Largest distance between the distribution functions of the scores of P and of N.
[[nodiscard]] double ks_statistic(const ScoreRuns& runs);
[[nodiscard]] double log_loss(const ScoreRuns& runs);     // p >= 2^-52
[[nodiscard]] double brier_score(const ScoreRuns& runs);  // mean (s - y)^2: also the MSE
[[nodiscard]] double mean_absolute_error(const ScoreRuns& runs);
// 1 - MSE / variance of the labels; undefined with labels of one class.
[[nodiscard]] double r_squared(const ScoreRuns& runs);
[[nodiscard]] double mean_score(const ScoreRuns& runs);
// Mean score of rows with a favourable label ("balance for the positive class", GTPR), and
// of the others ("balance for the negative class", GFPR). GFNR = 1 - GTPR, GTNR = 1 - GFPR.
[[nodiscard]] double generalized_tpr(const ScoreRuns& runs);
[[nodiscard]] double generalized_fpr(const ScoreRuns& runs);
[[nodiscard]] double generalized_fnr(const ScoreRuns& runs);
[[nodiscard]] double generalized_tnr(const ScoreRuns& runs);

// Calibration within a group: share of favourable labels and mean score, in bins of equal
// width of the score. NaN in bins without rows.
struct CalibrationBin {
  double low = 0, high = 0;
  Index rows = 0;
  double mean_score = kUndefined, share_positive = kUndefined;
};
[[nodiscard]] std::vector<CalibrationBin> calibration_curve(const ScoreRuns& runs,
                                                            Index bins = 10);
// Mean over rows of |mean score - share| of their bin, and the largest one of all bins.
[[nodiscard]] double calibration_error(const ScoreRuns& runs, Index bins = 10);
[[nodiscard]] double largest_calibration_error(const ScoreRuns& runs, Index bins = 10);

// The score metrics of one group by name.
struct ScoreMetricInfo {
  const char* name;
  const char* title;
  const char* formula;
  double (*value)(const ScoreRuns&);
  // The largest error of a histogram's value (without rounding).
  double (*bound)(const ScoreHistogram&);
};
// auc, average_precision, ks, log_loss, brier, mae, r2, mean_score, generalized_tpr,
// generalized_fpr, generalized_fnr, generalized_tnr, ece, mce. The bounds of ece and mce
// need a number of bins that 10 divides, otherwise they throw Error(bad_option).
[[nodiscard]] const std::vector<ScoreMetricInfo>& score_metrics();
[[nodiscard]] const ScoreMetricInfo* find_score_metric(std::string_view name);

// A figure from histograms, and its largest possible distance from that of the rows.
struct Bounded {
  double value = kUndefined, error = kUndefined;
};
[[nodiscard]] Bounded bounded(const ScoreMetricInfo& metric,
                              const ScoreHistogram& histogram);

// Two groups. ABROCA: area between their ROC curves. KS: largest distance between the
// distribution functions of their scores, for all labels together.
[[nodiscard]] double abroca(const ScoreRuns& u, const ScoreRuns& p);
[[nodiscard]] Bounded abroca(const ScoreHistogram& u, const ScoreHistogram& p);
[[nodiscard]] double ks_distance(const ScoreRuns& u, const ScoreRuns& p);
[[nodiscard]] Bounded ks_distance(const ScoreHistogram& u, const ScoreHistogram& p);

}  // namespace fmd
