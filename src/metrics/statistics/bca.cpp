#include "fmd/metrics/bca.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/sums.h"
#include "metrics/groups/confusion_counts.h"
#include "metrics/statistics/strata.h"

namespace fmd {
namespace {

// Linear between order statistics, the definition of percentile().
double sorted_quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double part = at - static_cast<double>(below);
  return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double normal_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

double normal_point(double share) {
  if (share == 0.5) return 0;
  return share > 0.5 ? normal_quantile(2 * share - 1) : -normal_quantile(1 - 2 * share);
}

// Where a percentile is moved to: Phi(z0 + (z0 + z) / (1 - a (z0 + z))).
double moved(double share, double bias, double acceleration) {
  const double z = bias + normal_point(share);
  const double stretch = 1 - acceleration * z;
  return stretch > 0 ? normal_below(bias + z / stretch) : kUndefined;
}

}  // namespace

Interval bca(double value, std::vector<double> replicates, double acceleration,
             double confidence) {
  require_option(confidence > 0 && confidence < 1, "bca", "confidence", confidence,
                 "between 0 and 1");
  const Interval unknown{value, kUndefined, kUndefined};
  const std::size_t all = replicates.size();
  std::erase_if(replicates, [](double x) { return std::isnan(x); });
  if (std::isnan(value) || std::isnan(acceleration) || replicates.empty() ||
      2 * replicates.size() < all)
    return unknown;
  std::sort(replicates.begin(), replicates.end());
  const auto [first, last] = std::equal_range(replicates.begin(), replicates.end(), value);
  const auto below =
      static_cast<double>((first - replicates.begin()) + (last - replicates.begin())) / 2 /
      static_cast<double>(replicates.size());
  if (below <= 0 || below >= 1) return unknown;
  const double bias = normal_point(below), tail = (1 - confidence) / 2;
  const double low = moved(tail, bias, acceleration);
  const double high = moved(1 - tail, bias, acceleration);
  if (std::isnan(low) || std::isnan(high)) return unknown;
  return {value, sorted_quantile(replicates, low), sorted_quantile(replicates, high),
          IntervalKind::bca};
}

double jackknife_acceleration(const std::vector<Index>& counts,
                              const std::vector<int>& stratum,
                              const CountStatistic& statistic) {
  require_strata(counts, stratum);
  std::vector<Index> table = counts;
  double squares = 0, cubes = 0;
  for (const auto& [name, cells] : cells_by_stratum(counts, stratum)) {
    double rows = 0, sum = 0;
    std::vector<double> left_out(cells.size(), 0);
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const std::size_t c = cells[k];
      if (counts[c] == 0) continue;
      --table[c];
      left_out[k] = statistic(table);
      ++table[c];
      if (!std::isfinite(left_out[k])) return kUndefined;
      rows += static_cast<double>(counts[c]);
      sum += static_cast<double>(counts[c]) * left_out[k];
    }
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const auto count = static_cast<double>(counts[cells[k]]);
      const double influence =
          count == 0 ? 0 : (rows - 1) * (sum / rows - left_out[k]) / rows;
      squares += count * influence * influence;
      cubes += count * influence * influence * influence;
    }
  }
  return mean_acceleration(squares, cubes);
}

double jackknife_acceleration(std::vector<double> left_out) {
  std::sort(left_out.begin(), left_out.end());
  double sum = 0, squares = 0, cubes = 0;
  for (const double x : left_out) {
    if (!std::isfinite(x)) return kUndefined;
    sum += x;
  }
  const double mean = sum / static_cast<double>(left_out.size());
  for (const double x : left_out) {
    squares += (mean - x) * (mean - x);
    cubes += (mean - x) * (mean - x) * (mean - x);
  }
  return mean_acceleration(squares, cubes);
}

double mean_acceleration(double sum_squares, double sum_cubes) {
  return sum_squares == 0 ? 0 : sum_cubes / (6 * sum_squares * std::sqrt(sum_squares));
}

Interval bca_counts(const std::vector<Index>& counts, const std::vector<int>& stratum,
                    const CountStatistic& statistic, double confidence, Index replicates,
                    const Exec& exec) {
  const double acceleration = jackknife_acceleration(counts, stratum, statistic);
  std::vector<double> values;
  for (const std::vector<Index>& table :
       bootstrap_counts(counts, stratum, replicates, exec))
    values.push_back(statistic(table));
  return bca(statistic(counts), std::move(values), acceleration, confidence);
}

Interval bca_mean(const Vector& statistic, double confidence, Index replicates,
                  const Exec& exec) {
  const Index n = statistic.size();
  if (n == 0) return {};
  const auto rows = static_cast<double>(n);
  const double mean =
      sum_rows(
          n, 1, [&](Vector& s, Index i) { s(0) += statistic(i); }, exec)(0) /
      rows;
  const Vector central = sum_rows(
      n, 2,
      [&](Vector& s, Index i) {
        const double x = statistic(i) - mean;
        s(0) += x * x;
        s(1) += x * x * x;
      },
      exec);
  const Matrix means = bootstrap_sums(statistic, replicates, exec) / rows;
  return bca(mean, {means.data(), means.data() + means.size()},
             mean_acceleration(central(0), central(1)), confidence);
}

Interval bootstrap_interval(double value, std::vector<double> replicates,
                            double acceleration, double confidence, Bootstrap intervals) {
  if (intervals == Bootstrap::bca) {
    const Interval found = bca(value, replicates, acceleration, confidence);
    if (!std::isnan(found.low)) return found;
  }
  return percentile(value, std::move(replicates), confidence);
}

Interval bootstrap_mean(const Vector& statistic, double confidence, Index replicates,
                        Bootstrap intervals, const Exec& exec) {
  if (intervals == Bootstrap::bca) {
    const Interval found = bca_mean(statistic, confidence, replicates, exec);
    if (!std::isnan(found.low)) return found;
  }
  return bootstrap_mean(statistic, confidence, replicates, exec);
}

Interval bca_criterion(const CriterionInfo& criterion, const Confusion& u,
                       const Confusion& p, double confidence, Index replicates,
                       const Exec& exec) {
  std::vector<Index> counts = confusion_counts("bca", u);
  const std::vector<Index> second = confusion_counts("bca", p);
  counts.insert(counts.end(), second.begin(), second.end());
  const auto statistic = [&](std::span<const Index> table) {
    return criterion.value(confusion_of(table), confusion_of(table.subspan(6)));
  };
  return bca_counts(counts, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, statistic, confidence,
                    replicates, exec);
}

}  // namespace fmd
