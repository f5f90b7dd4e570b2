#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// Where the ends of an interval come from. normal: the value +- z times its spread; order:
// other quantiles of the same rows.
// newcombe also where ends of several shares are put together in his way.
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

// A figure with its confidence interval; NaN = undefined (0 of 0), never 0.
struct Interval {
  double value = kUndefined, low = kUndefined, high = kUndefined;
  IntervalKind kind = IntervalKind::none;  // none: there are no ends, or nobody said

  [[nodiscard]] bool defined() const { return !std::isnan(value); }
  [[nodiscard]] Interval operator-() const { return {-value, -high, -low, kind}; }
};

// How the ends of a figure are taken from its bootstrap replicates: their percentiles, or
// these moved for bias and skewness (bca() in testing.h). Where BCa is undefined the
// percentiles stand, and the interval's kind says so.
enum class Bootstrap { percentile, bca };

// Confidence of each of k intervals such that all hold together with `confidence`
// (Bonferroni).
[[nodiscard]] double adjusted_confidence(double confidence, Index comparisons);

// Two-sided standard normal quantile: 1.96 for .95.
[[nodiscard]] double normal_quantile(double confidence);

// k of n. Wilson's score interval; undefined for 0 of 0. Here and below, Error(bad_option)
// is thrown for counts that are no share (k < 0, k > n) and for a confidence outside (0,
// 1).
[[nodiscard]] Interval wilson(Index k, Index n, double confidence);

// k1/n1 - k2/n2 of two separate groups: Newcombe's interval from the two Wilson intervals.
// Right also for rates of 0 and 1, where resampling shows no spread.
[[nodiscard]] Interval newcombe(Index k1, Index n1, Index k2, Index n2, double confidence);

// (k1/n1) / (k2/n2) of two separate groups, from the two Wilson intervals in the way that
// Newcombe's difference is ("variance estimates recovery"). Right also for k1 = 0;
// undefined for k2 = 0.
[[nodiscard]] Interval rate_ratio(Index k1, Index n1, Index k2, Index n2,
                                  double confidence);

// The same for numbers of rows that need not be whole: rows with weights count as
// (sum w)^2 / sum w^2 rows (Kish), of which the share k / n are hits.
[[nodiscard]] Interval effective_wilson(double k, double n, double confidence);
[[nodiscard]] Interval effective_newcombe(double k1, double n1, double k2, double n2,
                                          double confidence);
[[nodiscard]] Interval effective_ratio(double k1, double n1, double k2, double n2,
                                       double confidence);

// The replicates' percentiles around a value that was measured, linear between neighbours
// (the quantile that R calls type 7). Undefined replicates (NaN) are left out; fewer than
// half left, or none asked for: low and high are undefined. An adjusted confidence needs
// replicates in its tails: at least 10 / (1 - confidence) of them, else the ends are the
// extremes and a little too narrow.
[[nodiscard]] Interval percentile(double value, std::vector<double> replicates,
                                  double confidence);

// Bootstrap over units (rows): `sums` of the q statistics of `units` rows that were drawn
// with replacement; one row per replicate. Replicate r depends on (seed, r) alone, and on
// the contents of the rows but not on their order. Columns of one matrix share the draws,
// so before and after, numerator and denominator stay paired.
//
// Cost: replicates x rows x about 4 ns, on the pool. Above 200,000 rows
// that would be seconds: there the sums are drawn from the normal distribution with the
// exact mean and covariance of the resampled sums, in one pass over the rows, provided that
// sum |x - m|^3 <= .02 (sum (x - m)^2)^(3/2) in every column: the distribution of each sum
// is then within .012 of the plain one (Berry and Esseen). Columns with rare large values
// are drawn row by row at any size.
[[nodiscard]] Matrix bootstrap_sums(const Matrix& statistics, Index replicates,
                                    const Exec& exec);

// Interval of the mean over units of one column, by bootstrap_sums.
[[nodiscard]] Interval bootstrap_mean(const Vector& statistic, double confidence,
                                      Index replicates, const Exec& exec);

// Tables of counts, one a replicate, one behind the other.
class CountTables {
 public:
  CountTables(Index tables, std::size_t cells)
      : cells_(cells),
        counts_(static_cast<std::size_t>(tables) * cells, 0),
        tables_(tables) {}

  [[nodiscard]] Index size() const { return tables_; }
  [[nodiscard]] std::span<const Index> operator[](Index table) const {
    return {counts_.data() + static_cast<std::size_t>(table) * cells_, cells_};
  }
  [[nodiscard]] std::span<Index> operator[](Index table) {
    return {counts_.data() + static_cast<std::size_t>(table) * cells_, cells_};
  }
  bool operator==(const CountTables&) const = default;

 private:
  std::size_t cells_;
  std::vector<Index> counts_;
  Index tables_;
};

// Bootstrap of counts: replicate tables of a count table are multinomial draws of its
// total, which is what resampling the rows and counting again gives, at a cost that does
// not depend on the total: some 25 ns a cell. Replicate r depends on (seed, r) alone.
// Throws Error(bad_option) for negative counts.
[[nodiscard]] CountTables bootstrap_counts(const std::vector<Index>& counts,
                                           Index replicates, const Exec& exec);

// pass: the whole interval is inside [-limit, limit]; fail: wholly outside; else unclear,
// and so is an undefined interval, which is no evidence. none: there is no limit (NaN).
// Throws Error(bad_option) for a negative limit.
enum class Verdict { none, pass, fail, unclear };
[[nodiscard]] Verdict judge(const Interval& interval, double limit);
[[nodiscard]] std::string to_string(
    Verdict verdict);  // "none", "pass", "fail", "not enough evidence"

}  // namespace fmd
