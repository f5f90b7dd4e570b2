#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "fmd/metrics/score_curve.h"

namespace fmd {
namespace {

constexpr Index kCalibrationBins = 10;
constexpr double kLeast = 0x1p-52;

double real(Index n) { return static_cast<double>(n); }
double divide(double a, double b) { return b == 0 ? kUndefined : a / b; }

Index sum(const std::vector<Index>& counts) {
  Index total = 0;
  for (const Index count : counts) total += count;
  return total;
}

// Half a bin: how far a score is from the middle of its bin.
double half_bin(const ScoreHistogram& h) { return 0.5 / real(h.bins()); }

double half_bin_of_any(const ScoreHistogram& h) {
  return sum(h.positive) + sum(h.negative) == 0 ? kUndefined : half_bin(h);
}

double half_bin_of_positives(const ScoreHistogram& h) {
  return sum(h.positive) == 0 ? kUndefined : half_bin(h);
}

double half_bin_of_negatives(const ScoreHistogram& h) {
  return sum(h.negative) == 0 ? kUndefined : half_bin(h);
}

double calibration_bound(const ScoreHistogram& h) {
  require_option(h.bins() % kCalibrationBins == 0, "calibration", "bins", h.bins(),
                 fmt::format("a multiple of {}", kCalibrationBins));
  return half_bin_of_any(h);
}

// Pairs of one bin count half; they may be all right or all wrong.
double auc_bound(const ScoreHistogram& h) {
  double pairs = 0;
  for (std::size_t b = 0; b < h.positive.size(); ++b)
    pairs += real(h.positive[b]) * real(h.negative[b]);
  return divide(pairs / 2, real(sum(h.positive)) * real(sum(h.negative)));
}

// Within a bin with p positives, tp and fp above it: the j-th positive has a precision of
// at most (tp + p) / (tp + p + fp), and of at least (tp + j) / (tp + j + fp + n), which is
// concave in j, so that its mean is above the mean of its ends.
double average_precision_bound(const ScoreHistogram& h) {
  double tp = 0, fp = 0, error = 0;
  for (std::size_t b = h.positive.size(); b-- > 0;) {
    const double p = real(h.positive[b]), n = real(h.negative[b]);
    if (p > 0) {
      const double here = (tp + p) / (tp + p + fp + n);
      const double high = (tp + p) / (tp + p + fp);
      const double low = ((tp + 1) / (tp + 1 + fp + n) + here) / 2;
      error += p * std::max(high - here, here - low);
    }
    tp += p;
    fp += n;
  }
  return divide(error, tp);
}

// Largest distance that two distribution functions can have which pass through the counts
// at the bins' edges, less the largest at the edges themselves.
double distance_bound(const std::vector<Index>& a, const std::vector<Index>& b) {
  const double all_a = real(sum(a)), all_b = real(sum(b));
  if (all_a == 0 || all_b == 0) return kUndefined;
  double below_a = 0, below_b = 0, edges = 0, inside = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double next_a = below_a + real(a[i]) / all_a;
    const double next_b = below_b + real(b[i]) / all_b;
    inside = std::max({inside, next_a - below_b, next_b - below_a});
    edges = std::max(edges, std::abs(next_a - next_b));
    below_a = next_a;
    below_b = next_b;
  }
  return std::max(0.0, inside - edges);
}

double ks_bound(const ScoreHistogram& h) { return distance_bound(h.positive, h.negative); }

// The most that a row's loss can differ from that at the middle of its bin.
template <typename Loss>
double loss_bound(const ScoreHistogram& h, const Loss& loss) {
  const double bins = real(h.bins());
  double error = 0, rows = 0;
  for (Index b = 0; b < h.bins(); ++b) {
    const double low = real(b) / bins, high = real(b + 1) / bins;
    const double middle = (real(b) + 0.5) / bins;
    for (const bool positive : {true, false}) {
      const double count =
          real((positive ? h.positive : h.negative)[static_cast<std::size_t>(b)]);
      const double here = loss(middle, positive);
      error += count * std::max(std::abs(loss(low, positive) - here),
                                std::abs(loss(high, positive) - here));
      rows += count;
    }
  }
  return divide(error, rows);
}

double log_loss_bound(const ScoreHistogram& h) {
  return loss_bound(h, [](double s, bool positive) {
    return -std::log(std::max(positive ? s : 1 - s, kLeast));
  });
}

double brier_bound(const ScoreHistogram& h) {
  return loss_bound(
      h, [](double s, bool positive) { return positive ? (1 - s) * (1 - s) : s * s; });
}

double r_squared_bound(const ScoreHistogram& h) {
  const double p = real(sum(h.positive)), n = real(sum(h.negative));
  return divide(brier_bound(h) * (p + n) * (p + n), p * n);
}

void require_bins(const ScoreHistogram& a, const ScoreHistogram& b) {
  require_size("histogram", "positive", a.bins(), b.bins());
  require_size("histogram", "negative", static_cast<Index>(a.negative.size()), b.bins());
}

std::vector<Index> both_labels(const ScoreHistogram& h) {
  std::vector<Index> counts = h.positive;
  for (std::size_t b = 0; b < counts.size(); ++b) counts[b] += h.negative[b];
  return counts;
}

}  // namespace

ScoreHistogram::ScoreHistogram(Index bins) {
  require_option(bins >= 1, "histogram", "bins", bins, ">= 1");
  positive.assign(static_cast<std::size_t>(bins), 0);
  negative = positive;
}

void ScoreHistogram::add(double score, bool is_positive) {
  if (!(score >= 0 && score <= 1)) {
    throw Error(ErrorKind::bad_value, fmt::format("scores: {} is no probability", score),
                "give scores between 0 and 1");
  }
  const Index bin = std::min(static_cast<Index>(score * real(bins())), bins() - 1);
  ++(is_positive ? positive : negative)[static_cast<std::size_t>(bin)];
}

void ScoreHistogram::merge(const ScoreHistogram& other) {
  require_bins(other, *this);
  for (std::size_t b = 0; b < positive.size(); ++b) {
    positive[b] += other.positive[b];
    negative[b] += other.negative[b];
  }
}

void ScoreHistogram::save(ByteWriter& out) const {
  out.put_array(std::span<const Index>(positive));
  out.put_array(std::span<const Index>(negative));
}

ScoreHistogram ScoreHistogram::load(ByteReader& in) {
  ScoreHistogram h;
  h.positive = in.get_array<Index>();
  h.negative = in.get_array<Index>();
  if (h.positive.empty() || h.positive.size() != h.negative.size())
    throw Error(ErrorKind::bad_model, "state: a histogram's halves differ in size",
                "the file is damaged: make it again");
  return h;
}

ScoreRuns score_runs(const ScoreHistogram& histogram) {
  ScoreRuns runs;
  for (std::size_t b = 0; b < histogram.positive.size(); ++b) {
    const Index p = histogram.positive[b], n = histogram.negative[b];
    if (p + n > 0)
      runs.push_back({(static_cast<double>(b) + 0.5) / real(histogram.bins()), p, n});
  }
  return runs;
}

const std::vector<ScoreMetricInfo>& score_metrics() {
  static const std::vector<ScoreMetricInfo> all{
      {"auc", "area under the ROC curve", "P(S+ > S-) + P(S+ = S-) / 2",
       [](const ScoreRuns& r) { return auc(r); }, auc_bound},
      {"average_precision", "average precision", "sum (R_k - R_k-1) P_k", average_precision,
       average_precision_bound},
      {"ks", "Kolmogorov-Smirnov distance of favourable and unfavourable labels",
       "max_t |F+(t) - F-(t)|", ks_statistic, ks_bound},
      {"log_loss", "log loss", "-mean log p_y",
       [](const ScoreRuns& r) { return log_loss(r); }, log_loss_bound},
      {"brier", "Brier score", "mean (S - Y)^2", brier_score, brier_bound},
      {"mae", "mean absolute error of the scores", "mean |S - Y|", mean_absolute_error,
       half_bin_of_any},
      {"r2", "share of the labels' variance that scores explain",
       "1 - mean (S - Y)^2 / var(Y)", r_squared, r_squared_bound},
      {"mean_score", "mean score", "mean S", mean_score, half_bin_of_any},
      {"generalized_tpr", "mean score of favourable labels", "mean S on Y = 1",
       generalized_tpr, half_bin_of_positives},
      {"generalized_fpr", "mean score of unfavourable labels", "mean S on Y = 0",
       generalized_fpr, half_bin_of_negatives},
      {"generalized_fnr", "generalized false negative rate", "mean (1 - S) on Y = 1",
       generalized_fnr, half_bin_of_positives},
      {"generalized_tnr", "generalized true negative rate", "mean (1 - S) on Y = 0",
       generalized_tnr, half_bin_of_negatives},
      {"ece", "expected calibration error", "sum_b (n_b / n) |mean S_b - base rate_b|",
       [](const ScoreRuns& r) { return calibration_error(r, kCalibrationBins); },
       calibration_bound},
      {"mce", "largest calibration error", "max_b |mean S_b - base rate_b|",
       [](const ScoreRuns& r) { return largest_calibration_error(r, kCalibrationBins); },
       calibration_bound},
  };
  return all;
}

const ScoreMetricInfo* find_score_metric(std::string_view name) {
  for (const ScoreMetricInfo& info : score_metrics())
    if (info.name == name) return &info;
  return nullptr;
}

Bounded bounded(const ScoreMetricInfo& metric, const ScoreHistogram& histogram) {
  return {metric.value(score_runs(histogram)), metric.bound(histogram)};
}

Bounded abroca(const ScoreHistogram& u, const ScoreHistogram& p) {
  // Within a bin the ROC curve is a monotone path between the corners of a rectangle: from
  // the diagonal it encloses at most half of that, which is what auc_bound adds up.
  return {abroca(score_runs(u), score_runs(p)), auc_bound(u) + auc_bound(p)};
}

Bounded ks_distance(const ScoreHistogram& u, const ScoreHistogram& p) {
  require_bins(u, p);
  return {ks_distance(score_runs(u), score_runs(p)),
          distance_bound(both_labels(u), both_labels(p))};
}

}  // namespace fmd
