#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/bootstrap.h"

namespace fmd {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// Where the ends of an interval come from. newcombe: also for several shares whose ends are
// put together in Newcombe's way; normal: the value +- z times its spread; order: other
// quantiles of the same rows.
enum class IntervalKind : std::uint8_t {
  none,
  wilson,
  newcombe,
  rate_ratio,
  beta,
  percentile,
  bca,
  normal,
  order
};
[[nodiscard]] std::string to_string(IntervalKind kind);  // "wilson", ...

// A figure with its confidence interval; NaN = undefined (0 of 0), never 0. The kind
// travels with the figure: a report need not know which figures are bootstrapped, which
// have a formula, and where BCa was undefined.
struct Interval {
  double value = kUndefined, low = kUndefined, high = kUndefined;
  IntervalKind kind =
      IntervalKind::none;  // none: there are no ends, or the kind is unknown

  [[nodiscard]] bool defined() const { return !std::isnan(value); }
  [[nodiscard]] Interval operator-() const { return {-value, -high, -low, kind}; }
};

// How the ends of a figure are taken from its bootstrap replicates: their percentiles, or
// these percentiles moved for bias and skewness (bca() in bca.h). Where BCa is undefined,
// the percentiles are used, and the interval's kind says so.
enum class Bootstrap { percentile, bca };

// Confidence that each of k intervals needs, so that all of them hold together with
// `confidence` (Bonferroni).
[[nodiscard]] double adjusted_confidence(double confidence, Index comparisons);

// Two-sided standard normal quantile: 1.96 for .95.
[[nodiscard]] double normal_quantile(double confidence);

// k of n. Wilson's score interval; undefined for 0 of 0. This function and the next ones
// throw Error(bad_option) for counts that are not a share (k < 0, k > n) and for a
// confidence outside (0, 1).
[[nodiscard]] Interval wilson(Index k, Index n, double confidence);

// k1/n1 - k2/n2 of two separate groups: Newcombe's interval from the two Wilson intervals.
// Differences of group rates use it in place of a bootstrap. It is also right for rates of
// 0 and 1, where resampling shows no spread, and its coverage holds for small groups.
[[nodiscard]] Interval newcombe(Index k1, Index n1, Index k2, Index n2, double confidence);

// (k1/n1) / (k2/n2) of two separate groups. The ends come from the two Wilson intervals, in
// the same way as those of Newcombe's difference ("variance estimates recovery"). Also
// right for k1 = 0; undefined for k2 = 0.
[[nodiscard]] Interval rate_ratio(Index k1, Index n1, Index k2, Index n2,
                                  double confidence);

// The same for numbers of rows that need not be whole: rows with weights count as
// (sum w)^2 / sum w^2 rows (Kish), and the share k / n of these are hits.
[[nodiscard]] Interval effective_wilson(double k, double n, double confidence);
[[nodiscard]] Interval effective_newcombe(double k1, double n1, double k2, double n2,
                                          double confidence);
[[nodiscard]] Interval effective_ratio(double k1, double n1, double k2, double n2,
                                       double confidence);

// Equal-tailed credible interval of a share under a Beta(prior, prior) prior: prior 1/2 is
// Jeffreys' prior, 1 the uniform one. value is k / n; undefined for 0 of 0. Throws
// Error(bad_option) in the cases of wilson(), and for prior <= 0.
[[nodiscard]] Interval beta_interval(Index k, Index n, double confidence,
                                     double prior = 0.5);

// Percentiles of the replicates around a measured value, linear between neighbours (the
// quantile that R calls type 7). Undefined replicates (NaN) are left out. low and high are
// undefined when fewer than half of the replicates are left, or when there were none. An
// adjusted confidence needs replicates in its tails: with fewer than 10 / (1 - confidence)
// replicates the ends are the extremes, and a little too narrow.
[[nodiscard]] Interval percentile(double value, std::vector<double> replicates,
                                  double confidence);

// Interval of the mean over units of one column, by bootstrap_sums().
[[nodiscard]] Interval bootstrap_mean(const Vector& statistic, double confidence,
                                      Index replicates, const Exec& exec);

// pass: the whole interval is inside [-limit, limit]. fail: the whole interval is outside.
// unclear: all other cases, and an undefined interval, which is not evidence. none: there
// is no limit (NaN). Throws Error(bad_option) for a negative limit.
enum class Verdict { none, pass, fail, unclear };
[[nodiscard]] Verdict judge(const Interval& interval, double limit);
// "none", "pass", "fail", "not enough evidence"
[[nodiscard]] std::string to_string(Verdict verdict);

}  // namespace fmd
