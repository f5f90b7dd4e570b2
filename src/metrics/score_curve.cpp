#include "fmd/metrics/score_curve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace fmd {
namespace {

constexpr double kLeast =
    0x1p-52;  // probabilities below count as this much in the log loss

double real(Index n) { return static_cast<double>(n); }
double divide(double a, double b) { return b == 0 ? kUndefined : a / b; }

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
  throw Error(ErrorKind::bad_value, fmt::format("scores: {} is no probability", score),
              "give scores between 0 and 1");
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
    return -std::log(std::max(y == 1 ? s : 1 - s, kLeast));
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

}  // namespace fmd
