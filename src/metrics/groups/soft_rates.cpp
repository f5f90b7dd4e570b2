#include "metrics/groups/soft_rates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "metrics/statistics/normal_sums.h"
#include "metrics/statistics/rate_count.h"

namespace fmd::internal {
namespace {

// Sums over resampled rows: the score; the score where the label is favourable; 1 where it
// is.
enum ScoreColumn { kScore, kPositiveScore, kPositive, kScoreColumns };

// The kept rows of each group, by their scores: what is drawn from them is sorted again,
// which is quick then. Rows without one of the attributes belong to no group.
std::vector<std::vector<Index>> rows_by_group(const KeptRows& kept,
                                              std::span<const Index> attributes,
                                              const std::vector<Index>& values,
                                              std::size_t groups) {
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(kept.score.size());
  for (std::size_t i = 0; i < kept.score.size(); ++i) order.emplace_back(kept.score[i], i);
  std::sort(order.begin(), order.end());
  std::vector<std::vector<Index>> rows(groups);
  for (const auto& [score, i] : order) {
    Index group = 0;
    for (const Index a : attributes) {
      const std::int32_t code = kept.code[at(a)][i];
      group = code < 0 || group < 0 ? -1 : group * values[at(a)] + code;
    }
    if (group >= 0) rows[at(group)].push_back(static_cast<Index>(i));
  }
  return rows;
}

Matrix sums_of_rows(const KeptRows& kept, const std::vector<Index>& rows, int favorable,
                    Index replicates, const Exec& exec) {
  const bool labelled = !kept.y.empty();
  Matrix statistics =
      Matrix::Zero(static_cast<Index>(rows.size()), labelled ? kScoreColumns : 1);
  for (Index k = 0; k < statistics.rows(); ++k) {
    const std::size_t row = at(rows[at(k)]);
    statistics(k, kScore) = kept.score[row];
    if (labelled && kept.y[row] == favorable)
      statistics(k, kPositiveScore) = kept.score[row], statistics(k, kPositive) = 1;
  }
  return bootstrap_sums(statistics, replicates, exec);
}

// Moments of the three columns. With weights: those of the effective number of rows.
Moments moments_of(const LabelTally& all, const LabelTally& positive) {
  const double n = all.weight;
  Moments m{Vector(kScoreColumns), Matrix(kScoreColumns, kScoreColumns),
            Vector::Zero(kScoreColumns)};
  m.mean << all.score / n, positive.score / n, positive.weight / n;
  Matrix second(kScoreColumns, kScoreColumns);
  second << all.score_squares, positive.score_squares, positive.score,  //
      positive.score_squares, positive.score_squares, positive.score,   //
      positive.score, positive.score, positive.weight;
  m.covariance = second / n - m.mean * m.mean.transpose();
  return m;
}

double bin_score(std::size_t bin) {
  return (static_cast<double>(bin) + 0.5) / static_cast<double>(kScoreBins);
}

// sum |x - mean|^3, from the histogram; rows without a label count with their mean.
void set_third(const ScoreHistogram& h, const LabelTally& unknown, double rows,
               Moments& m) {
  const auto cube = [](double x) { return std::abs(x * x * x); };
  double positives = 0;
  for (std::size_t b = 0; b < h.positive.size(); ++b) {
    const auto p = static_cast<double>(h.positive[b]),
               n = static_cast<double>(h.negative[b]);
    positives += p;
    m.third(kScore) += (p + n) * cube(bin_score(b) - m.mean(kScore));
    m.third(kPositiveScore) += p * cube(bin_score(b) - m.mean(kPositiveScore));
  }
  if (unknown.rows > 0)
    m.third(kScore) +=
        unknown.weight * cube(unknown.score / unknown.weight - m.mean(kScore));
  m.third(kPositiveScore) += (rows - positives) * cube(m.mean(kPositiveScore));
  m.third(kPositive) = positives * cube(1 - m.mean(kPositive)) +
                       (rows - positives) * cube(m.mean(kPositive));
}

// Multinomial draws of the bins, shifted so that their mean is that of the scores.
Matrix sums_of_bins(const ScoreHistogram& h, const LabelTally& unknown, const Moments& m,
                    Index replicates, const Exec& exec) {
  std::vector<double> count, score, positive;
  for (const bool label : {false, true}) {
    const std::vector<Index>& bins = label ? h.positive : h.negative;
    for (std::size_t b = 0; b < bins.size(); ++b) {
      if (bins[b] == 0) continue;
      count.push_back(static_cast<double>(bins[b]));
      score.push_back(bin_score(b));
      positive.push_back(label ? 1 : 0);
    }
  }
  if (unknown.rows > 0) {
    count.push_back(static_cast<double>(unknown.rows));
    score.push_back(unknown.score / unknown.weight);
    positive.push_back(0);
  }
  const double rows = std::accumulate(count.begin(), count.end(), 0.0);
  double binned = 0, binned_positive = 0;
  for (std::size_t b = 0; b < count.size(); ++b) {
    binned += count[b] * score[b];
    binned_positive += positive[b] * count[b] * score[b];
  }
  Matrix sums = Matrix::Zero(replicates, kScoreColumns);
  exec.for_each(replicates, [&](Index r) {
    Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(r));
    std::vector<Index> drawn;
    rng.multinomial(static_cast<Index>(rows), count, drawn);
    for (std::size_t b = 0; b < drawn.size(); ++b) {
      const auto n = static_cast<double>(drawn[b]);
      sums(r, kScore) += n * score[b];
      sums(r, kPositiveScore) += positive[b] * n * score[b];
      sums(r, kPositive) += positive[b] * n;
    }
    sums(r, kScore) += rows * m.mean(kScore) - binned;
    sums(r, kPositiveScore) += rows * m.mean(kPositiveScore) - binned_positive;
  });
  return sums;
}

Matrix sums_of_moments(const GroupTally& group, const LabelTally& positive,
                       const ScoreHistogram* histogram, bool weighted, Index replicates,
                       const Exec& exec) {
  const LabelTally all = group.all();
  Moments m = moments_of(all, positive);
  if (weighted) {
    const double rows = effective(0, all.weight, all.weight_squares).of;
    return normal_sums(m, std::max<Index>(1, std::llround(rows)), replicates, exec);
  }
  if (histogram != nullptr) {
    set_third(*histogram, group.unknown, all.weight, m);
    if (!nearly_normal(m, all.rows))
      return sums_of_bins(*histogram, group.unknown, m, replicates, exec);
  }
  return normal_sums(m, all.rows, replicates, exec);
}

// Sums of squared and cubed influences of scores on their mean.
struct Influence {
  double squares = 0, cubes = 0;

  void add(double times, double off, double rows) {
    const double one = off / rows;
    squares += times * one * one;
    cubes += times * one * one * one;
  }
};

// Summed in order of the scores: the order of the rows changes no bit.
Influence influence_of_rows(std::vector<double> score) {
  if (!std::is_sorted(score.begin(), score.end())) std::sort(score.begin(), score.end());
  const auto rows = static_cast<double>(score.size());
  const double mean = std::accumulate(score.begin(), score.end(), 0.0) / rows;
  Influence sums;
  for (const double x : score) sums.add(1, x - mean, rows);
  return sums;
}

// All rows of a bin count with its middle, rows without a label with their mean.
Influence influence_of_bins(const ScoreHistogram& h, const LabelTally& unknown,
                            bool positives, double mean, double rows) {
  Influence sums;
  for (std::size_t b = 0; b < h.positive.size(); ++b)
    sums.add(static_cast<double>(h.positive[b] + (positives ? 0 : h.negative[b])),
             bin_score(b) - mean, rows);
  if (!positives && unknown.rows > 0)
    sums.add(static_cast<double>(unknown.rows), unknown.score / unknown.weight - mean,
             rows);
  return sums;
}

std::vector<double> scores_of(const KeptRows& kept, const std::vector<Index>& rows,
                              int favorable, bool positives) {
  std::vector<double> scores;
  for (const Index row : rows)
    if (!positives || kept.y[at(row)] == favorable) scores.push_back(kept.score[at(row)]);
  return scores;
}

}  // namespace

SoftRates soft_rates(const Tally& tally, std::span<const Index> attributes,
                     const std::vector<GroupTally>& tallies,
                     const std::vector<std::string>& values, const GroupRates& rates,
                     const GroupOptions& options, const Exec& exec) {
  const TallyPlan& plan = tally.plan();
  SoftRates soft{rates.selection, rates.tpr};
  const auto groups = static_cast<Index>(values.size());
  for (GroupRate* rate : {&soft.all, &soft.positives}) {
    rate->name = "mean_score";
    rate->means = Vector::Constant(groups, kUndefined);
    rate->replicates = Matrix::Constant(groups, options.replicates, kUndefined);
    rate->squares = rate->cubes = Vector::Zero(groups);
    // Weighted sums are drawn from the normal distribution: there is nothing to correct.
    if (!plan.weighted) rate->intervals = options.intervals;
  }
  if (plan.favorable < 0) return soft;
  const bool exact = tally.kept() != nullptr && !plan.weighted;
  std::vector<std::vector<Index>> rows;
  std::vector<ScoreHistogram> histograms;
  if (exact)
    rows = rows_by_group(*tally.kept(), attributes, plan.values, values.size());
  else
    histograms = tally.histograms(attributes);
  for (Index g = 0; g < groups; ++g) {
    if (!rates.selection.large[at(g)]) continue;
    const GroupTally& group = tallies[at(g)];
    const LabelTally all = group.all(), &positive = group.label[at(plan.favorable)];
    // Each group has its own random stream, by its name: it stays the same when groups are
    // renumbered.
    Exec own = exec;
    own.seed = Rng(exec.seed, "group " + values[at(g)]).next();
    const Matrix sums =
        exact ? sums_of_rows(*tally.kept(), rows[at(g)], plan.favorable, options.replicates,
                             own)
              : sums_of_moments(group, positive,
                                histograms.empty() ? nullptr : &histograms[at(g)],
                                plan.weighted, options.replicates, own);
    const double drawn = plan.weighted
                             ? static_cast<double>(std::max<Index>(
                                   1, std::llround(rates.selection.counts[at(g)].of)))
                             : static_cast<double>(all.rows);
    const auto set_influence = [&](GroupRate& rate, bool positives) {
      if (rate.intervals == Bootstrap::percentile || (!exact && histograms.empty())) return;
      const Influence sums =
          exact
              ? influence_of_rows(
                    scores_of(*tally.kept(), rows[at(g)], plan.favorable, positives))
              : influence_of_bins(histograms[at(g)], group.unknown, positives,
                                  rate.means(g), positives ? positive.weight : all.weight);
      rate.squares(g) = sums.squares;
      rate.cubes(g) = sums.cubes;
    };
    soft.all.means(g) = all.score / all.weight;
    set_influence(soft.all, false);
    soft.all.replicates.row(g) = sums.col(kScore).transpose() / drawn;
    if (!plan.labelled) continue;
    soft.positives.means(g) = positive.score / positive.weight;
    set_influence(soft.positives, true);
    for (Index r = 0; r < options.replicates; ++r)
      if (sums(r, kPositive) > 0)
        soft.positives.replicates(g, r) = sums(r, kPositiveScore) / sums(r, kPositive);
  }
  return soft;
}

}  // namespace fmd::internal
