#include "metrics/groups/score_figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/bca.h"
#include "fmd/metrics/score_curve.h"
#include "metrics/groups/widest_pair.h"
#include "metrics/statistics/from_spread.h"

namespace fmd::internal {
namespace {

constexpr Index kCoarse = 50, kSpreadReplicates = 200;

struct GroupScores {
  ScoreRuns runs;
  std::vector<Index> coarse;  // counts of the coarse histogram, favourable labels first
  std::vector<ScoreRuns> replicates;
};

ScoreRuns kept_runs(const KeptRows& kept, Index attribute, int group, int favorable) {
  std::vector<double> score;
  std::vector<bool> positive;
  for (std::size_t i = 0; i < kept.score.size(); ++i) {
    if (kept.code[at(attribute)][i] != group || kept.y[i] < 0) continue;
    score.push_back(kept.score[i]);
    positive.push_back(kept.y[i] == favorable);
  }
  return score_runs(score, positive);
}

std::vector<Index> coarse_counts(const ScoreHistogram& fine) {
  std::vector<Index> counts(at(2 * kCoarse), 0);
  const Index width = fine.bins() / kCoarse;
  for (Index b = 0; b < fine.bins(); ++b) {
    counts[at(b / width)] += fine.positive[at(b)];
    counts[at(kCoarse + b / width)] += fine.negative[at(b)];
  }
  return counts;
}

ScoreRuns coarse_runs(std::span<const Index> counts) {
  ScoreHistogram coarse(kCoarse);
  std::copy_n(counts.begin(), kCoarse, coarse.positive.begin());
  std::copy_n(counts.begin() + kCoarse, kCoarse, coarse.negative.begin());
  return score_runs(coarse);
}

// A spread needs few replicates. The tails of BCa need as many as the options say.
std::vector<ScoreRuns> resampled_runs(const std::vector<Index>& counts,
                                      const GroupOptions& options, const Exec& exec) {
  const Index replicates = options.intervals == Bootstrap::bca
                               ? std::max(kSpreadReplicates, options.replicates)
                               : kSpreadReplicates;
  const CountTables tables = bootstrap_counts(counts, replicates, exec);
  std::vector<ScoreRuns> all;
  for (Index r = 0; r < replicates; ++r) all.push_back(coarse_runs(tables[r]));
  return all;
}

// A figure of the coarse histogram of one group, or of those of two groups in one array.
using CoarseFigure = std::function<double(std::span<const Index>)>;

// BCa. The replicates are first moved by the error of the coarse bins, which is no bias of
// sampling.
Interval corrected(double value, std::vector<double> replicates, double confidence,
                   std::vector<Index> counts, const CoarseFigure& figure) {
  const double off = value - figure(counts);
  for (double& x : replicates) x += off;
  std::vector<int> group;
  for (std::size_t c = 0; c < counts.size(); ++c)
    group.push_back(static_cast<int>(c / at(2 * kCoarse)));
  return bca(value, std::move(replicates), jackknife_acceleration(counts, group, figure),
             confidence);
}

// Cut to the range that the figure can have. counts, figure: for BCa, otherwise empty.
Interval spread(double value, const std::vector<double>& replicates, double confidence,
                double least, double most, const std::vector<Index>& counts = {},
                const CoarseFigure& figure = {}) {
  Interval i;
  if (!counts.empty()) i = corrected(value, replicates, confidence, counts, figure);
  if (std::isnan(i.low)) i = from_spread(value, replicates, confidence);
  if (i.low < least) i.low = least;
  if (i.high > most) i.high = most;
  return i;
}

// The same on the log-odds of a figure between 0 and 1 that is skewed: its spread is larger
// on the side of 1/2. Undefined at 0 and 1, where the plain one serves.
Interval log_odds_spread(double value, const std::vector<double>& replicates,
                         double confidence) {
  const auto log_odds = [](double x) {
    constexpr double kEdge =
        1e-3;  // a replicate at 0 or 1 says "far", not "infinitely far"
    const double inside = std::clamp(x, kEdge, 1 - kEdge);
    return std::log(inside / (1 - inside));
  };
  std::vector<double> moved;
  for (const double x : replicates)
    if (!std::isnan(x)) moved.push_back(log_odds(x));
  if (!(value > 0) || !(value < 1)) return spread(value, replicates, confidence, 0, 1);
  Interval i = from_spread(log_odds(value), moved, confidence);
  const auto back = [](double z) { return 1 / (1 + std::exp(-z)); };
  i = {value, std::min(value, back(i.low)), std::max(value, back(i.high)), i.kind};
  return i;
}

// Dvoretzky, Kiefer, Wolfowitz and Massart: with this confidence a distribution of n values
// is nowhere farther than this from the one that they were drawn from.
double band(double n, double confidence) {
  return std::sqrt(std::log(2 / (1 - confidence)) / (2 * n));
}

// A size that lies within `error` of that of the population.
Interval within(double value, double error, double most) {
  return {value, std::max(0.0, value - error), std::min(most, value + error)};
}

// Errors of the distributions of both labels in one group, each at half the level.
double label_bands(const ScoreRuns& runs, double confidence) {
  double positive = 0, negative = 0;
  for (const ScoreRun& run : runs) {
    positive += static_cast<double>(run.positive);
    negative += static_cast<double>(run.negative);
  }
  const double half = (1 + confidence) / 2;
  return band(positive, half) + band(negative, half);
}

double all_rows(const ScoreRuns& runs) {
  double rows = 0;
  for (const ScoreRun& run : runs) rows += static_cast<double>(run.positive + run.negative);
  return rows;
}

// Where a metric follows from exact sums, its value comes from them and not from the bins.
double exact_value(const std::string& name, const GroupTally& group, int favorable,
                   double otherwise) {
  const LabelTally known = group.known();
  const LabelTally& positive = group.label[at(favorable)];
  if (known.weight == 0) return otherwise;
  if (name == "brier") return known.brier / known.weight;
  if (name == "log_loss" && group.label.size() == 2) return known.loss / known.weight;
  if (name == "mean_score") return known.score / known.weight;
  const double negatives = known.weight - positive.weight;
  if (name == "generalized_tpr" && positive.weight > 0)
    return positive.score / positive.weight;
  if (name == "generalized_fpr" && negatives > 0)
    return (known.score - positive.score) / negatives;
  return otherwise;
}

Interval metric_interval(const ScoreMetricInfo& metric, const GroupScores& scores,
                         const GroupTally& group, int favorable, bool kept,
                         const GroupOptions& options) {
  double value = metric.value(scores.runs);
  if (!kept) value = exact_value(metric.name, group, favorable, value);
  std::vector<double> values;
  for (const ScoreRuns& runs : scores.replicates) values.push_back(metric.value(runs));
  const std::string name = metric.name;
  // Sizes: the sample shows more of them than there is, and resampling adds to it.
  if (name == "ks") return within(value, label_bands(scores.runs, options.confidence), 1);
  if (name == "ece" || name == "mce") return {value, kUndefined, kUndefined};
  const double least = name == "r2" ? -HUGE_VAL : 0,
               most = name == "log_loss" ? HUGE_VAL : 1;
  const bool bca = options.intervals == Bootstrap::bca;
  if (name == "average_precision" && !bca)
    return log_odds_spread(value, values, options.confidence);
  return spread(
      value, values, options.confidence, least, most,
      bca ? scores.coarse : std::vector<Index>{},
      [&](std::span<const Index> counts) { return metric.value(coarse_runs(counts)); });
}

// Beyond so many groups the pairs are too many to be resampled.
constexpr std::size_t kMostInPairs = 40;

struct ScoreFigure {
  const char* name;
  double (*value)(const ScoreRuns& u, const ScoreRuns& p);
  // How far a size can be from that of the population; null: it is no size.
  double (*error)(const ScoreRuns& u, const ScoreRuns& p, double confidence);
};

Comparison compare(const ScoreFigure& figure, int first, int second, const GroupScores& p,
                   const GroupScores& u, double confidence, Bootstrap intervals) {
  if (figure.error != nullptr) {
    const double value = figure.value(u.runs, p.runs);
    return {first, second, figure.name,
            within(value, figure.error(u.runs, p.runs, confidence), 1)};
  }
  std::vector<double> values;
  for (std::size_t r = 0; r < u.replicates.size(); ++r)
    values.push_back(figure.value(u.replicates[r], p.replicates[r]));
  std::vector<Index> both;
  if (intervals == Bootstrap::bca) {
    both = u.coarse;
    both.insert(both.end(), p.coarse.begin(), p.coarse.end());
  }
  return {first, second, figure.name,
          spread(figure.value(u.runs, p.runs), values, confidence, -1, 1, both,
                 [&](std::span<const Index> counts) {
                   return figure.value(coarse_runs(counts.first(at(2 * kCoarse))),
                                       coarse_runs(counts.subspan(at(2 * kCoarse))));
                 })};
}

GroupMeasure measure_scores(const ScoreFigure& figure,
                            const std::vector<GroupScores>& scores,
                            const std::vector<int>& groups, const GroupOptions& options,
                            const GroupReport& report) {
  GroupMeasure measure;
  measure.name = figure.name;
  measure.by_name = true;
  const auto count = static_cast<Index>(groups.size());
  measure.pairs = count * (count - 1) / 2;
  const double one = adjusted_confidence(options.confidence, count - 1);
  const double all = adjusted_confidence(options.confidence, measure.pairs);
  const auto rank = [](const Interval& i) {
    return std::tuple(std::abs(i.value), i.low - i.high, i.value);
  };
  WidestPair widest(false);
  for (std::size_t u = 0; u < groups.size(); ++u) {
    for (std::size_t p = 0; p < groups.size(); ++p) {
      const auto pair = [&](double confidence) {
        return compare(figure, groups[p], groups[u], scores[p], scores[u], confidence,
                       options.intervals);
      };
      if (p < u && groups.size() <= kMostInPairs) widest.add(pair(all));
      if (groups[p] != report.reference || u == p) continue;
      measure.comparisons.push_back(pair(one));
      const Interval& found = measure.comparisons.back().difference;
      const Comparison* farthest = measure.behind_value();
      if (found.defined() &&
          (farthest == nullptr || rank(found) > rank(farthest->difference)))
        measure.farthest = static_cast<int>(measure.comparisons.size()) - 1;
    }
  }
  measure.widest = widest.widest();
  if (const Comparison* farthest = measure.behind_value()) {
    measure.value = farthest->difference;
    if (!report.named) {
      measure.value = {std::abs(measure.value.value), kUndefined, kUndefined};
      if (groups.size() <= kMostInPairs) measure.value = measure.widest.difference;
    }
  }
  if (!measure.value.defined()) measure.reason = "a group has labels of one kind only";
  return measure;
}

double auc_difference(const ScoreRuns& u, const ScoreRuns& p) { return auc(u) - auc(p); }
double roc_area(const ScoreRuns& u, const ScoreRuns& p) { return abroca(u, p); }
double score_distance(const ScoreRuns& u, const ScoreRuns& p) { return ks_distance(u, p); }

// Two distributions, each at half the level.
double distance_error(const ScoreRuns& u, const ScoreRuns& p, double confidence) {
  const double half = (1 + confidence) / 2;
  return band(all_rows(u), half) + band(all_rows(p), half);
}

// A band around the scores of favourable labels moves the curve up or down, one around the
// others moves it sideways: the area moves by no more than the bands.
double area_error(const ScoreRuns& u, const ScoreRuns& p, double confidence) {
  const double half = (1 + confidence) / 2;
  return label_bands(u, half) + label_bands(p, half);
}

}  // namespace

void add_score_figures(const Tally& tally, std::span<const Index> attributes,
                       const std::vector<GroupTally>& tallies,
                       const std::vector<int>& groups, const FigureRules& rules,
                       const GroupOptions& options, const Exec& exec, GroupReport& report) {
  std::string reason = rules.reason(nullptr);
  if (reason.empty() && tally.plan().weighted) reason = "not with weights";
  if (reason.empty() && attributes.empty()) reason = "no attribute";
  const auto undefined = [&](const std::string& why) {
    for (const char* name : kScoreFigures) {
      GroupMeasure measure;
      measure.name = name;
      measure.reason = why;
      measure.by_name = true;
      report.measures.push_back(std::move(measure));
    }
  };
  if (!reason.empty()) {
    for (Group& group : report.groups)
      for (const ScoreMetricInfo& metric : score_metrics())
        group.rates.push_back({metric.name, {}, reason});
    return undefined(reason);
  }
  const int favorable = tally.plan().favorable;
  const std::vector<ScoreHistogram> histograms = tally.histograms(attributes);
  const bool kept = tally.kept() != nullptr;
  std::vector<GroupScores> scores(groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const std::size_t g = at(groups[k]);
    Exec own = exec;
    own.seed = Rng(exec.seed, "scores of " + report.groups[g].value).next();
    scores[k].runs = kept ? kept_runs(*tally.kept(), attributes[0], groups[k], favorable)
                          : score_runs(histograms[g]);
    scores[k].coarse = coarse_counts(histograms[g]);
    scores[k].replicates = resampled_runs(scores[k].coarse, options, own);
    for (const ScoreMetricInfo& metric : score_metrics()) {
      Figure figure{
          metric.name,
          metric_interval(metric, scores[k], tallies[g], favorable, kept, options), ""};
      if (!figure.value.defined()) figure.reason = "labels of one kind only";
      report.groups[g].rates.push_back(std::move(figure));
    }
  }
  if (groups.size() < 2)
    return undefined(
        fmt::format("fewer than two groups have >= {} rows", options.min_rows));
  if (report.reference < 0 || !report.groups[at(report.reference)].compared)
    return undefined("the reference group has too few rows");
  for (const ScoreFigure& figure :
       {ScoreFigure{"auc_difference", auc_difference, nullptr},
        ScoreFigure{"abroca", roc_area, area_error},
        ScoreFigure{"ks_distance", score_distance, distance_error}})
    report.measures.push_back(measure_scores(figure, scores, groups, options, report));
}

}  // namespace fmd::internal
