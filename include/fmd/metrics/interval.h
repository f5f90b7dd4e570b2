#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// A figure with its confidence interval; NaN = undefined (0 of 0), never 0.
struct Interval {
  double value = kUndefined, low = kUndefined, high = kUndefined;

  [[nodiscard]] bool defined() const { return !std::isnan(value); }
  [[nodiscard]] Interval operator-() const { return {-value, -high, -low}; }
};

// Confidence of each of k intervals such that all hold together with `confidence` (Bonferroni).
[[nodiscard]] double adjusted_confidence(double confidence, Index comparisons);

// Two-sided standard normal quantile: 1.96 for .95.
[[nodiscard]] double normal_quantile(double confidence);

// k of n. Wilson's score interval.
[[nodiscard]] Interval wilson(Index k, Index n, double confidence);

// k1/n1 - k2/n2 of two separate groups: Newcombe's interval from the two Wilson intervals. Right
// also for rates of 0 and 1, where resampling shows no spread.
[[nodiscard]] Interval newcombe(Index k1, Index n1, Index k2, Index n2, double confidence);

// The replicates' percentiles around a value that was measured. Undefined replicates (NaN) are left
// out; fewer than half left: the interval is undefined.
[[nodiscard]] Interval percentile(double value, std::vector<double> replicates, double confidence);

// Bootstrap over units (rows): `sums` of the q statistics of `units` rows that were drawn with
// replacement; one row per replicate. Replicate r depends on (seed, r) alone. Columns of one matrix
// share the draws, so before and after, numerator and denominator stay paired.
[[nodiscard]] Matrix bootstrap_sums(const Matrix& statistics, Index replicates, const Exec& exec);

// Interval of the mean over units of one column, by bootstrap_sums.
[[nodiscard]] Interval bootstrap_mean(const Vector& statistic, double confidence, Index replicates,
                                      const Exec& exec);

// Bootstrap of counts: replicate tables of a count table are multinomial draws of its total, which
// is what resampling the rows and counting again gives. One row per replicate.
[[nodiscard]] std::vector<std::vector<Index>> bootstrap_counts(const std::vector<Index>& counts,
                                                               Index replicates, const Exec& exec);

// pass: the whole interval is inside [-limit, limit]; fail: wholly outside; else unclear.
enum class Verdict { none, pass, fail, unclear };
[[nodiscard]] Verdict judge(const Interval& interval, double limit);
[[nodiscard]] std::string to_string(Verdict verdict);  // "none", "pass", "fail", "not enough evidence"

}  // namespace fmd
