#pragma once

#include <functional>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/metrics/confusion.h"
#include "fmd/metrics/interval.h"

// Bias-corrected and accelerated (BCa) bootstrap intervals, for figures without a closed
// form.
namespace fmd {

// A figure of a table of counts. Called from several threads at a time.
using CountStatistic = std::function<double(const std::vector<Index>&)>;

// Bias-corrected and accelerated interval (Efron): percentiles of the replicates, corrected
// for two things: the bias of the replicates (the share of them below the value, ties
// half), and how their spread changes with the value (acceleration). Undefined replicates
// are left out. The ends are undefined where fewer than half are left, where all lie on one
// side of the value, or where the acceleration is undefined. Replicates without spread give
// an interval without width: for shares near 0 and 1 use Wilson's and Newcombe's intervals.
[[nodiscard]] Interval bca(double value, std::vector<double> replicates,
                           double acceleration, double confidence);

// The acceleration from the jackknife. All rows of a cell are equal. So the whole jackknife
// leaves out one row of each cell that has rows. With strata, each stratum has its own
// mean, as for several samples. Undefined where leaving out a row makes the figure
// undefined.
[[nodiscard]] double jackknife_acceleration(const std::vector<Index>& counts,
                                            const std::vector<int>& stratum,
                                            const CountStatistic& statistic);
// For figures that are not computed from counts. left_out[i]: the figure without row i. The
// order of the rows changes no bit.
[[nodiscard]] double jackknife_acceleration(std::vector<double> left_out);
// Of a mean: sum (x - m)^3 / (6 (sum (x - m)^2)^(3/2)); 0 when nothing varies.
[[nodiscard]] double mean_acceleration(double sum_squares, double sum_cubes);

// BCa of a figure of counts, of a mean, and of a group criterion; the groups of a criterion
// are resampled separately. Cost: replicates multinomial draws; for the mean that of
// bootstrap_mean(). Throw Error (bad_shape, bad_option; bad_option also for confusions that
// are not whole counts).
[[nodiscard]] Interval bca_counts(const std::vector<Index>& counts,
                                  const std::vector<int>& stratum,
                                  const CountStatistic& statistic, double confidence,
                                  Index replicates, const Exec& exec);
[[nodiscard]] Interval bca_mean(const Vector& statistic, double confidence,
                                Index replicates, const Exec& exec);
[[nodiscard]] Interval bca_criterion(const CriterionInfo& criterion, const Confusion& u,
                                     const Confusion& p, double confidence,
                                     Index replicates, const Exec& exec);

// What `intervals` asks for: percentiles, or BCa where it is defined.
[[nodiscard]] Interval bootstrap_interval(double value, std::vector<double> replicates,
                                          double acceleration, double confidence,
                                          Bootstrap intervals);
[[nodiscard]] Interval bootstrap_mean(const Vector& statistic, double confidence,
                                      Index replicates, Bootstrap intervals,
                                      const Exec& exec);

}  // namespace fmd
