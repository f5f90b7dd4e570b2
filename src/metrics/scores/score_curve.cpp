#include "fmd/metrics/score_curve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "fmd/model/loss.h"
#include "metrics/statistics/divide.h"

namespace fmd {
namespace {

constexpr Index kCalibrationBins = 10;
// Smaller probabilities count as this much in the log loss.
constexpr double kLeastProbability = 0x1p-52;

double real(Index n) { return static_cast<double>(n); }

struct Totals {
  Index positive = 0, negative = 0;
};

Totals totals(const ScoreRuns& runs) {
  Totals t;
  for (const ScoreRun& run : runs) {
    t.positive += run.positive;
    t.negative += run.negative;
  }
  return t;
}

// Mean over rows of loss(score, label).
template <typename Loss>
double mean_of(const ScoreRuns& runs, const Loss& loss) {
  double sum = 0;
  Index rows = 0;
  for (const ScoreRun& run : runs) {
    if (run.positive > 0) sum += real(run.positive) * loss(run.score, 1.0);
    if (run.negative > 0) sum += real(run.negative) * loss(run.score, 0.0);
    rows += run.positive + run.negative;
  }
  return divide(sum, real(rows));
}

void require_score(double score) {
  if (score >= 0 && score <= 1) return;
  throw Error(ErrorKind::bad_value, fmt::format("scores: {} is not a probability", score),
              "give scores between 0 and 1");
}

struct RocPoint {
  double x = 0, y = 0;
};

// Vertices of the ROC curve from (0, 0) to (1, 1); empty where a class has no rows.
std::vector<RocPoint> roc(const ScoreRuns& runs) {
  double positives = 0, negatives = 0;
  for (const ScoreRun& run : runs) {
    positives += static_cast<double>(run.positive);
    negatives += static_cast<double>(run.negative);
  }
  if (positives == 0 || negatives == 0) return {};
  std::vector<RocPoint> curve{{0, 0}};
  double tp = 0, fp = 0;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    tp += static_cast<double>(run->positive);
    fp += static_cast<double>(run->negative);
    curve.push_back({fp / negatives, tp / positives});
  }
  return curve;
}

// Walks along a curve and gives its height just right of x and just left of a later x.
// Where the curve rises vertically at x, these are the two ends of the rise.
class RocWalk {
 public:
  explicit RocWalk(const std::vector<RocPoint>& curve) : curve_(curve) {}

  double right_of(double x) {
    while (at_ + 2 < curve_.size() && curve_[at_ + 1].x <= x) ++at_;
    return height(x);
  }
  // x lies on the segment that right_of() found.
  [[nodiscard]] double left_of(double x) const { return height(x); }

 private:
  [[nodiscard]] double height(double x) const {
    const RocPoint& a = curve_[at_];
    const RocPoint& b = curve_[at_ + 1];
    return b.x == a.x ? b.y : a.y + (b.y - a.y) * ((x - a.x) / (b.x - a.x));
  }

  const std::vector<RocPoint>& curve_;
  std::size_t at_ = 0;  // segment from vertex at_ to at_ + 1
};

// Integral of |d| over an interval where d is linear from `from` to `to`.
double area_between(double from, double to, double width) {
  if ((from < 0) == (to < 0) || from == 0 || to == 0)
    return (std::abs(from) + std::abs(to)) / 2 * width;
  return (from * from + to * to) / (2 * (std::abs(from) + std::abs(to))) * width;
}

Index sum_of(const std::vector<Index>& counts) {
  Index total = 0;
  for (const Index count : counts) total += count;
  return total;
}

// Half a bin: the largest distance of a score from the middle of its bin.
double half_bin(const ScoreHistogram& h) { return 0.5 / real(h.bins()); }

double half_bin_of_any(const ScoreHistogram& h) {
  return sum_of(h.positive) + sum_of(h.negative) == 0 ? kUndefined : half_bin(h);
}

double half_bin_of_positives(const ScoreHistogram& h) {
  return sum_of(h.positive) == 0 ? kUndefined : half_bin(h);
}

double half_bin_of_negatives(const ScoreHistogram& h) {
  return sum_of(h.negative) == 0 ? kUndefined : half_bin(h);
}

double calibration_bound(const ScoreHistogram& h) {
  require_option(h.bins() % kCalibrationBins == 0, "calibration", "bins", h.bins(),
                 fmt::format("a multiple of {}", kCalibrationBins));
  return half_bin_of_any(h);
}

// Pairs within one bin count half. In truth all of them may be right, or all wrong.
double auc_bound(const ScoreHistogram& h) {
  double pairs = 0;
  for (std::size_t b = 0; b < h.positive.size(); ++b)
    pairs += real(h.positive[b]) * real(h.negative[b]);
  return divide(pairs / 2, real(sum_of(h.positive)) * real(sum_of(h.negative)));
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

// The largest possible distance of two distribution functions that go through the counts at
// the edges of the bins, minus the largest distance at the edges.
double distance_bound(const std::vector<Index>& a, const std::vector<Index>& b) {
  const double all_a = real(sum_of(a)), all_b = real(sum_of(b));
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

// The largest possible difference between a row's loss and that at the middle of its bin,
// averaged over the rows.
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
    return -std::log(std::max(positive ? s : 1 - s, kLeastProbability));
  });
}

double brier_bound(const ScoreHistogram& h) {
  return loss_bound(
      h, [](double s, bool positive) { return positive ? (1 - s) * (1 - s) : s * s; });
}

double r_squared_bound(const ScoreHistogram& h) {
  const double p = real(sum_of(h.positive)), n = real(sum_of(h.negative));
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

ScoreRuns score_runs(const std::vector<double>& score, const std::vector<bool>& positive) {
  require_size("score_runs", "positive", static_cast<Index>(positive.size()),
               static_cast<Index>(score.size()));
  for (const double s : score) require_score(s);
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  ScoreRuns runs;
  for (const std::size_t i : order) {
    if (runs.empty() || runs.back().score != score[i]) runs.push_back({score[i], 0, 0});
    ++(positive[i] ? runs.back().positive : runs.back().negative);
  }
  return runs;
}

ScoreHistogram::ScoreHistogram(Index bins) {
  require_option(bins >= 1, "histogram", "bins", bins, ">= 1");
  positive.assign(static_cast<std::size_t>(bins), 0);
  negative = positive;
}

void ScoreHistogram::add(double score, bool is_positive) {
  require_score(score);
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

double auc(const ScoreRuns& runs) {
  // Twice the number of pairs (positive above negative, equal ones half): an exact count.
  Index twice = 0;
  Totals below;
  for (const ScoreRun& run : runs) {
    twice += run.positive * (2 * below.negative + run.negative);
    below.positive += run.positive;
    below.negative += run.negative;
  }
  return divide(real(twice), 2 * real(below.positive) * real(below.negative));
}

double average_precision(const ScoreRuns& runs) {
  const Totals all = totals(runs);
  if (all.positive == 0) return kUndefined;
  Totals above;
  double sum = 0;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    above.positive += run->positive;
    above.negative += run->negative;
    if (run->positive > 0)
      sum += real(run->positive) * real(above.positive) /
             real(above.positive + above.negative);
  }
  return sum / real(all.positive);
}

double ks_statistic(const ScoreRuns& runs) {
  const Totals all = totals(runs);
  if (all.positive == 0 || all.negative == 0) return kUndefined;
  Totals below;
  double widest = 0;
  for (const ScoreRun& run : runs) {
    below.positive += run.positive;
    below.negative += run.negative;
    widest = std::max(widest, std::abs(real(below.positive) / real(all.positive) -
                                       real(below.negative) / real(all.negative)));
  }
  return widest;
}

double log_loss(const ScoreRuns& runs) {
  return mean_of(runs, [](double s, double y) {
    return -std::log(std::max(y == 1 ? s : 1 - s, kLeastProbability));
  });
}

double brier_score(const ScoreRuns& runs) {
  return mean_of(runs, [](double s, double y) { return (s - y) * (s - y); });
}

double mean_absolute_error(const ScoreRuns& runs) {
  return mean_of(runs, [](double s, double y) { return std::abs(s - y); });
}

double r_squared(const ScoreRuns& runs) {
  const Totals all = totals(runs);
  const double share = divide(real(all.positive), real(all.positive + all.negative));
  return 1 - divide(brier_score(runs), share * (1 - share));
}

double mean_score(const ScoreRuns& runs) {
  return mean_of(runs, [](double s, double) { return s; });
}

double generalized_tpr(const ScoreRuns& runs) {
  double sum = 0;
  for (const ScoreRun& run : runs) sum += real(run.positive) * run.score;
  return divide(sum, real(totals(runs).positive));
}

double generalized_fpr(const ScoreRuns& runs) {
  double sum = 0;
  for (const ScoreRun& run : runs) sum += real(run.negative) * run.score;
  return divide(sum, real(totals(runs).negative));
}

double generalized_fnr(const ScoreRuns& runs) { return 1 - generalized_tpr(runs); }

double generalized_tnr(const ScoreRuns& runs) { return 1 - generalized_fpr(runs); }

std::vector<CalibrationBin> calibration_curve(const ScoreRuns& runs, Index bins) {
  require_option(bins >= 1, "calibration", "bins", bins, ">= 1");
  struct Sum {
    double score = 0;
    Index rows = 0, positive = 0;
  };
  std::vector<Sum> sums(static_cast<std::size_t>(bins));
  for (const ScoreRun& run : runs) {
    const double at = std::clamp(real(bins) * run.score, 0.0, real(bins - 1));
    Sum& sum = sums[static_cast<std::size_t>(at)];
    const Index rows = run.positive + run.negative;
    sum.score += real(rows) * run.score;
    sum.rows += rows;
    sum.positive += run.positive;
  }
  std::vector<CalibrationBin> curve;
  for (Index b = 0; b < bins; ++b) {
    const Sum& sum = sums[static_cast<std::size_t>(b)];
    curve.push_back({.low = real(b) / real(bins),
                     .high = real(b + 1) / real(bins),
                     .rows = sum.rows,
                     .mean_score = divide(sum.score, real(sum.rows)),
                     .share_positive = divide(real(sum.positive), real(sum.rows))});
  }
  return curve;
}

double calibration_error(const ScoreRuns& runs, Index bins) {
  double sum = 0;
  Index rows = 0;
  for (const CalibrationBin& bin : calibration_curve(runs, bins)) {
    if (bin.rows == 0) continue;
    sum += real(bin.rows) * std::abs(bin.mean_score - bin.share_positive);
    rows += bin.rows;
  }
  return divide(sum, real(rows));
}

double largest_calibration_error(const ScoreRuns& runs, Index bins) {
  double largest = kUndefined;
  for (const CalibrationBin& bin : calibration_curve(runs, bins))
    if (bin.rows > 0)
      largest = std::fmax(largest, std::abs(bin.mean_score - bin.share_positive));
  return largest;
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

double abroca(const ScoreRuns& u, const ScoreRuns& p) {
  const std::vector<RocPoint> first = roc(u), second = roc(p);
  if (first.empty() || second.empty()) return kUndefined;
  std::vector<double> grid;
  grid.reserve(first.size() + second.size());
  for (const auto* curve : {&first, &second})
    for (const RocPoint& point : *curve) grid.push_back(point.x);
  // x rises along a curve.
  std::inplace_merge(grid.begin(), grid.begin() + std::ssize(first), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());

  RocWalk along_u(first), along_p(second);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < grid.size(); ++i) {
    const double from = along_u.right_of(grid[i]) - along_p.right_of(grid[i]);
    const double to = along_u.left_of(grid[i + 1]) - along_p.left_of(grid[i + 1]);
    sum += area_between(from, to, grid[i + 1] - grid[i]);
  }
  return sum;
}

Bounded abroca(const ScoreHistogram& u, const ScoreHistogram& p) {
  // Within a bin the ROC curve is a monotone path between two corners of a rectangle.
  // Between it and the diagonal lies at most half of the rectangle. auc_bound adds up these
  // halves.
  return {abroca(score_runs(u), score_runs(p)), auc_bound(u) + auc_bound(p)};
}

double ks_distance(const ScoreRuns& u, const ScoreRuns& p) {
  const auto rows = [](const ScoreRuns& runs) {
    Index all = 0;
    for (const ScoreRun& run : runs) all += run.positive + run.negative;
    return static_cast<double>(all);
  };
  const double all_u = rows(u), all_p = rows(p);
  if (all_u == 0 || all_p == 0) return kUndefined;
  Index below_u = 0, below_p = 0;
  double widest = 0;
  for (std::size_t i = 0, j = 0; i < u.size() && j < p.size();) {
    const double score = std::min(u[i].score, p[j].score);
    if (u[i].score == score) below_u += u[i].positive + u[i].negative, ++i;
    if (p[j].score == score) below_p += p[j].positive + p[j].negative, ++j;
    widest = std::max(widest, std::abs(static_cast<double>(below_u) / all_u -
                                       static_cast<double>(below_p) / all_p));
  }
  return widest;
}

Bounded ks_distance(const ScoreHistogram& u, const ScoreHistogram& p) {
  require_bins(u, p);
  return {ks_distance(score_runs(u), score_runs(p)),
          distance_bound(both_labels(u), both_labels(p))};
}

}  // namespace fmd
