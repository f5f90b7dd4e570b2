#pragma once

#include <functional>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/interval.h"

// Intervals and tests beside those of interval.h: for figures without a closed form, and
// for many comparisons at once.
namespace fmd {

// Equal-tailed credible interval of a share under a Beta(prior, prior) prior: prior 1/2 is
// Jeffreys', 1 the uniform one. value is k / n; undefined for 0 of 0. Throws
// Error(bad_option) as wilson(), and for prior <= 0.
[[nodiscard]] Interval beta_interval(Index k, Index n, double confidence,
                                     double prior = 0.5);

// A figure of a table of counts. Called from several threads at a time.
using CountStatistic = std::function<double(const std::vector<Index>&)>;

// bootstrap_counts() within strata: rows are drawn from the cells of their own stratum, so
// that every stratum (a group) keeps its size. stratum: of each cell, any numbers; empty:
// all cells are one. Throws Error (bad_shape, bad_option).
[[nodiscard]] std::vector<std::vector<Index>> bootstrap_counts(
    const std::vector<Index>& counts, const std::vector<int>& stratum, Index replicates,
    const Exec& exec);

// Bias-corrected and accelerated interval (Efron): percentiles of the replicates, moved for
// their bias (the share of them below the value, ties half) and for how the spread changes
// with the value (acceleration). Undefined replicates are left out. The ends are undefined
// where fewer than half are left, where all lie on one side of the value, or where the
// acceleration is undefined. Replicates without spread give an interval without width:
// shares near 0 and 1 need Wilson's and Newcombe's.
[[nodiscard]] Interval bca(double value, std::vector<double> replicates,
                           double acceleration, double confidence);

// The acceleration from the jackknife. All rows of a cell are alike, so leaving out one row
// of each cell that has rows is the whole jackknife. With strata each has its own mean
// (as for several samples). Undefined where leaving out a row leaves the figure undefined.
[[nodiscard]] double jackknife_acceleration(const std::vector<Index>& counts,
                                            const std::vector<int>& stratum,
                                            const CountStatistic& statistic);
// From the figure without row i, of every row: for figures that are no counts. The order of
// the rows changes no bit.
[[nodiscard]] double jackknife_acceleration(std::vector<double> left_out);
// Of a mean: sum (x - m)^3 / (6 (sum (x - m)^2)^(3/2)); 0 when nothing varies.
[[nodiscard]] double mean_acceleration(double sum_squares, double sum_cubes);

// BCa of a figure of counts, of a mean, and of a group criterion with groups resampled
// apart. Cost: replicates multinomial draws; for the mean as bootstrap_mean(). Throw Error
// (bad_shape, bad_option; bad_option too for confusions that are no whole counts).
[[nodiscard]] Interval bca_counts(const std::vector<Index>& counts,
                                  const std::vector<int>& stratum,
                                  const CountStatistic& statistic, double confidence,
                                  Index replicates, const Exec& exec);
[[nodiscard]] Interval bca_mean(const Vector& statistic, double confidence,
                                Index replicates, const Exec& exec);
// As `intervals` asks: percentiles, or BCa where it is defined.
[[nodiscard]] Interval bootstrap_interval(double value, std::vector<double> replicates,
                                          double acceleration, double confidence,
                                          Bootstrap intervals);
[[nodiscard]] Interval bootstrap_mean(const Vector& statistic, double confidence,
                                      Index replicates, Bootstrap intervals,
                                      const Exec& exec);
[[nodiscard]] Interval bca_criterion(const CriterionInfo& criterion, const Confusion& u,
                                     const Confusion& p, double confidence,
                                     Index replicates, const Exec& exec);

// counts[g][k]: rows of group g with outcome k.
using GroupCounts = std::vector<std::vector<Index>>;

struct PermutationTest {
  double statistic = kUndefined;  // of the table as it is
  double p_value = kUndefined;    // (1 + hits) / (1 + permutations)
  Index hits = 0;                 // permutations whose figure is at least as large in size
  Index permutations = 0;
};

// How often groups that are dealt out at random differ as much as these: rows keep their
// outcome, groups keep their sizes. Rows of outcomes with the same stratum are exchanged
// among each other (outcomes by label and decision with the label as stratum: every group
// keeps its labels); empty: all rows. A permutation of the rows is a draw from the
// multivariate hypergeometric distribution of the counts, at a cost that does not depend on
// the number of rows. A permutation whose figure is undefined counts as a hit. Permutation
// r depends on (seed, r) alone. Throws Error (bad_shape, bad_option).
[[nodiscard]] PermutationTest permutation_test(
    const GroupCounts& counts, const std::vector<int>& stratum,
    const std::function<double(const GroupCounts&)>& statistic, Index permutations,
    const Exec& exec);

// Which rows are alike when there is no gap: all; those with the same label (tpr, fpr,
// odds); those with the same decision (ppv, npv, ...).
enum class Exchange { all, same_label, same_decision };
[[nodiscard]] Exchange natural_exchange(const CriterionInfo& criterion);

// For differences the size of the criterion, for ratios that of its logarithm.
[[nodiscard]] PermutationTest permutation_test(const CriterionInfo& criterion,
                                               const Confusion& u, const Confusion& p,
                                               Exchange exchange, Index permutations,
                                               const Exec& exec);

// Several criteria on the same permutations: what one alone would give, at the cost of
// about one.
[[nodiscard]] std::vector<PermutationTest> permutation_tests(
    const std::vector<const CriterionInfo*>& criteria, const Confusion& u,
    const Confusion& p, Exchange exchange, Index permutations, const Exec& exec);

// p-values adjusted for their number, in the same order; undefined ones (NaN) stay so and
// do not count. Holm: the chance of any false alarm stays below the level, whatever the
// dependence. Benjamini-Hochberg: the expected share of false alarms does, for independent
// or positively dependent tests. Throw Error(bad_option) for values outside [0, 1].
[[nodiscard]] std::vector<double> holm(const std::vector<double>& p_values);
[[nodiscard]] std::vector<double> benjamini_hochberg(const std::vector<double>& p_values);

}  // namespace fmd
