#include "fmd/metrics/interval.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/sums.h"
#include "metrics/statistics/distributions.h"

namespace fmd {
namespace {

void require_confidence(double confidence) {
  require_option(confidence > 0 && confidence < 1, "interval", "confidence", confidence,
                 "between 0 and 1");
}

template <typename Number>
void require_count(Number k, Number n) {
  if (k >= 0 && k <= n) return;
  throw Error(ErrorKind::bad_option, fmt::format("interval: {} of {} is not a share", k, n),
              "hits are a part of the rows: give at most as many hits as rows");
}

// Linear between order statistics ("type 7"): quantile 0 is the smallest value, 1 the
// largest. Finds only the two neighbours, which is cheaper than sorting all values.
double quantile(std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(at);
  const auto low = values.begin() + below;
  std::nth_element(values.begin(), low, values.end());
  if (low + 1 == values.end()) return *low;
  const double next = *std::min_element(low + 1, values.end());
  return *low + (at - static_cast<double>(below)) * (next - *low);
}

}  // namespace

double adjusted_confidence(double confidence, Index comparisons) {
  require_confidence(confidence);
  return 1 - (1 - confidence) / static_cast<double>(std::max<Index>(1, comparisons));
}

double normal_quantile(double confidence) {
  require_confidence(confidence);
  // Newton on log P(|Z| > z) = log(1 - confidence). The left side is concave and falls, so
  // from the second iterate on the steps come from one side and never overshoot.
  const double goal = std::log1p(-confidence);
  double z = 0;
  for (int k = 0; k < 100; ++k) {
    const double tail = std::erfc(z / std::numbers::sqrt2);
    const double density = std::sqrt(2 / std::numbers::pi) * std::exp(-z * z / 2);
    const double step = (std::log(tail) - goal) * tail / density;
    z += step;
    if (std::abs(step) <= 1e-15 * (1 + z)) break;
  }
  return z;
}

Interval effective_wilson(double k, double n, double confidence) {
  require_confidence(confidence);
  require_count(k, n);
  if (n == 0) return {};
  const double z = normal_quantile(confidence);
  const double rate = k / n;
  const double shrink = 1 / (1 + z * z / n);
  const double middle = shrink * (rate + z * z / (2 * n));
  const double half = shrink * z * std::sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
  // The ends of 0 of n and n of n are exactly 0 and 1; rounding would miss them.
  return {rate, k == 0 ? 0.0 : std::max(0.0, middle - half),
          k == n ? 1.0 : std::min(1.0, middle + half), IntervalKind::wilson};
}

Interval effective_newcombe(double k1, double n1, double k2, double n2, double confidence) {
  const Interval a = effective_wilson(k1, n1, confidence);
  const Interval b = effective_wilson(k2, n2, confidence);
  if (!a.defined() || !b.defined()) return {};
  const double difference = a.value - b.value;
  return {difference, difference - std::hypot(a.value - a.low, b.high - b.value),
          difference + std::hypot(a.high - a.value, b.value - b.low),
          IntervalKind::newcombe};
}

Interval effective_ratio(double k1, double n1, double k2, double n2, double confidence) {
  const Interval a = effective_wilson(k1, n1, confidence);
  const Interval b = effective_wilson(k2, n2, confidence);
  if (!a.defined() || !b.defined() || k2 == 0) return {};
  const double product = a.value * b.value;
  // x (2 rate - x) = rate^2 - (rate - x)^2, for the ends that make the ratio small and
  // large.
  const double down = a.low * (2 * a.value - a.low), over = b.high * (2 * b.value - b.high);
  const double up = a.high * (2 * a.value - a.high), under = b.low * (2 * b.value - b.low);
  const double low_root = std::sqrt(std::max(0.0, product * product - down * over));
  const double high_root = std::sqrt(std::max(0.0, product * product - up * under));
  const double low = k1 == 0 ? 0.0 : down / (product + low_root);
  return {a.value / b.value, low, (product + high_root) / under, IntervalKind::rate_ratio};
}

Interval wilson(Index k, Index n, double confidence) {
  require_count(k, n);
  return effective_wilson(static_cast<double>(k), static_cast<double>(n), confidence);
}

Interval newcombe(Index k1, Index n1, Index k2, Index n2, double confidence) {
  require_count(k1, n1);
  require_count(k2, n2);
  return effective_newcombe(static_cast<double>(k1), static_cast<double>(n1),
                            static_cast<double>(k2), static_cast<double>(n2), confidence);
}

Interval rate_ratio(Index k1, Index n1, Index k2, Index n2, double confidence) {
  require_count(k1, n1);
  require_count(k2, n2);
  return effective_ratio(static_cast<double>(k1), static_cast<double>(n1),
                         static_cast<double>(k2), static_cast<double>(n2), confidence);
}

Interval beta_interval(Index k, Index n, double confidence, double prior) {
  require_option(prior > 0, "beta_interval", "prior", prior, "> 0");
  const double share = wilson(k, n, confidence).value;  // also checks k, n and confidence
  if (n == 0) return {};
  const double a = static_cast<double>(k) + prior, b = static_cast<double>(n - k) + prior;
  const double tail = (1 - confidence) / 2;
  return {share, beta_quantile(tail, a, b), beta_quantile(1 - tail, a, b),
          IntervalKind::beta};
}

Interval percentile(double value, std::vector<double> replicates, double confidence) {
  require_confidence(confidence);
  if (std::isnan(value)) return {};
  const std::size_t all = replicates.size();
  std::erase_if(replicates, [](double x) { return std::isnan(x); });
  if (replicates.empty() || 2 * replicates.size() < all)
    return {value, kUndefined, kUndefined};
  const double tail = (1 - confidence) / 2;
  const double low = quantile(replicates, tail);
  return {value, low, quantile(replicates, 1 - tail), IntervalKind::percentile};
}

Interval bootstrap_mean(const Vector& statistic, double confidence, Index replicates,
                        const Exec& exec) {
  if (statistic.size() == 0) return {};
  const double rows = static_cast<double>(statistic.size());
  const Vector sum = sum_rows(
      statistic.size(), 1, [&](Vector& s, Index i) { s(0) += statistic(i); }, exec);
  const Matrix sums = bootstrap_sums(statistic, replicates, exec) / rows;
  return percentile(sum(0) / rows, {sums.data(), sums.data() + sums.size()}, confidence);
}

std::string to_string(IntervalKind kind) {
  switch (kind) {
    case IntervalKind::none:
      return "none";
    case IntervalKind::wilson:
      return "wilson";
    case IntervalKind::newcombe:
      return "newcombe";
    case IntervalKind::rate_ratio:
      return "rate_ratio";
    case IntervalKind::beta:
      return "beta";
    case IntervalKind::percentile:
      return "percentile";
    case IntervalKind::order:
      return "order";
    case IntervalKind::bca:
      return "bca";
    case IntervalKind::normal:
      return "normal";
  }
  return "none";
}

Verdict judge(const Interval& interval, double limit) {
  if (std::isnan(limit)) return Verdict::none;
  require_option(limit >= 0, "interval", "limit", limit, ">= 0");
  if (interval.low >= -limit && interval.high <= limit) return Verdict::pass;
  if (interval.low > limit || interval.high < -limit) return Verdict::fail;
  return Verdict::unclear;
}

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::none:
      return "none";
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::unclear:
      return "not enough evidence";
  }
  return "none";
}

}  // namespace fmd
