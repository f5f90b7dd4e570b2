#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "core/sums.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/testing.h"

namespace fmd {
namespace {

constexpr int kChangeUnit = 60;

// Means over the pairs of a unit, and whether there is one: numerators beside denominators,
// so that a sum of resampled rows gives ratios.
enum Column { kCo, kLabelled, kTv, kFlip, kLargeCo, kLarge, kColumns };

double divide(double a, double b) { return b == 0 ? kUndefined : a / b; }

// Acceleration of the same ratio: without each row in turn.
double ratio_acceleration(const Matrix& statistics, const Vector& total, Index numerator,
                          Index denominator) {
  const auto n = static_cast<double>(statistics.rows());
  std::vector<double> left_out(at(statistics.rows()));
  for (Index i = 0; i < statistics.rows(); ++i)
    left_out[at(i)] =
        divide(total(numerator) - statistics(i, numerator),
               denominator < 0 ? n - 1 : total(denominator) - statistics(i, denominator));
  return jackknife_acceleration(std::move(left_out));
}

// sum of one column over the sum of another (-1: over the number of rows).
Interval ratio(const Matrix& statistics, const Vector& total, const Matrix& replicates,
               Index numerator, Index denominator, const FlipOptions& options) {
  const double n = static_cast<double>(statistics.rows());
  std::vector<double> values(at(replicates.rows()));
  for (Index r = 0; r < replicates.rows(); ++r)
    values[at(r)] =
        divide(replicates(r, numerator), denominator < 0 ? n : replicates(r, denominator));
  const bool bca = options.intervals == Bootstrap::bca;
  return bootstrap_interval(
      divide(total(numerator), denominator < 0 ? n : total(denominator)), std::move(values),
      bca ? ratio_acceleration(statistics, total, numerator, denominator) : 0,
      options.confidence, options.intervals);
}

// In units of 2^-60, so that the order of rows changes no bit.
Vector column_sums(const Matrix& statistics) {
  Vector sums(statistics.cols());
  for (Index j = 0; j < statistics.cols(); ++j) {
    ExactSum rises, falls;
    for (Index i = 0; i < statistics.rows(); ++i)
      (statistics(i, j) < 0 ? falls : rises).add(std::abs(statistics(i, j)), kChangeUnit);
    sums(j) = rises.value(kChangeUnit) - falls.value(kChangeUnit);
  }
  return sums;
}

int worst_cell(const std::vector<FlipCell>& cells, const std::vector<bool>& large) {
  int worst = -1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const FlipCell& cell = cells[c];
    if (!cell.co.defined() || !large[at(cell.from)] || !large[at(cell.to)]) continue;
    if (worst < 0 || cell.co.value > cells[at(worst)].co.value) worst = static_cast<int>(c);
  }
  return worst;
}

std::vector<bool> large_values(const std::vector<Index>& rows, Index min_rows) {
  std::vector<bool> large;
  for (const Index n : rows) large.push_back(n >= min_rows && n > 0);
  return large;
}

}  // namespace

FlipReport FlipTally::report_kept(const FlipOptions& options, const Exec& exec) const {
  const std::vector<bool> large = large_values(rows_, options.min_rows);
  const bool valued = plan_.by_value;
  std::vector<std::size_t> start = {0};
  for (const Index n : kept_.unit_pairs) start.push_back(start.back() + at(n));

  Matrix statistics = Matrix::Zero(units_, kColumns);
  for (Index u = 0; u < units_; ++u) {
    double sum[kColumns] = {}, all = 0;
    for (std::size_t i = start[at(u)]; i < start[at(u) + 1]; ++i) {
      const auto w = static_cast<double>(kept_.weight[i]);
      const double gap = std::abs(kept_.change[i]);
      const bool known = !std::isnan(gap);
      const bool both =
          known && valued && large[at(kept_.from[i])] && large[at(kept_.to[i])];
      all += w;
      sum[kTv] += w * kept_.tv[i];
      sum[kFlip] += kept_.flipped[i] != 0 ? w : 0;
      if (known) sum[kCo] += w * gap, sum[kLabelled] += w;
      if (both) sum[kLargeCo] += w * gap, sum[kLarge] += w;
    }
    for (const auto& [mean, weight] : {std::pair{kCo, kLabelled}, {kLargeCo, kLarge}}) {
      if (sum[weight] == 0) continue;
      statistics(u, mean) = sum[mean] / sum[weight];
      statistics(u, weight) = 1;
    }
    for (const Column mean : {kTv, kFlip}) statistics(u, mean) = sum[mean] / all;
  }
  const Vector total = column_sums(statistics);
  const Matrix replicates = bootstrap_sums(statistics, options.replicates, exec);
  const auto figure = [&](Index numerator, Index denominator) {
    return ratio(statistics, total, replicates, numerator, denominator, options);
  };
  FlipReport report;
  report.co = figure(kCo, kLabelled);
  report.co_tv = figure(kTv, -1);
  report.flip_rate = figure(kFlip, -1);
  report.co_large = figure(kLargeCo, kLarge);
  if (!valued) return report;

  // The cells of one own value: its rows against each other value. One resampling serves
  // them all. Per value: gaps, pairs with a known gap.
  const Index values = plan_.values;
  for (std::int32_t from = 0; from < values; ++from) {
    std::vector<Index> units;
    for (Index u = 0; u < units_; ++u)
      if (kept_.from[start[at(u)]] == from) units.push_back(u);
    Matrix gaps = Matrix::Zero(static_cast<Index>(units.size()), 2 * values);
    for (Index row = 0; row < gaps.rows(); ++row) {
      const std::size_t u = at(units[at(row)]);
      for (std::size_t i = start[u]; i < start[u + 1]; ++i) {
        if (std::isnan(kept_.change[i])) continue;
        gaps(row, 2 * kept_.to[i]) += std::abs(kept_.change[i]);
        gaps(row, 2 * kept_.to[i] + 1) += 1;
      }
    }
    const Vector sums = column_sums(gaps);
    const Matrix drawn = bootstrap_sums(gaps, options.replicates, exec);
    for (std::int32_t to = 0; to < values; ++to) {
      if (to == from) continue;
      FlipCell cell{.from = from, .to = to, .rows = 0, .co = {}};
      cell.co = ratio(gaps, sums, drawn, 2 * to, 2 * to + 1, options);
      report.cells.push_back(cell);
    }
  }
  return report;
}

Interval FlipTally::large_gap(const std::vector<bool>& large, double confidence) const {
  struct Part {
    double rows, mean, spread;
  };
  std::vector<Part> parts;
  double rows = 0, sum = 0;
  for (Index from = 0; from < plan_.values; ++from) {
    if (!large[at(from)]) continue;
    double others = 0, mean = 0, spread = 0, most = 0;
    for (Index to = 0; to < plan_.values; ++to) {
      const GapBins& gap = cells_[at(from * plan_.values + to)].gap;
      if (to == from || !large[at(to)] || gap.count() == 0) continue;
      others += 1;
      mean += gap.mean();
      spread += std::sqrt(gap.variance());
      most = std::max(most, static_cast<double>(gap.count()));
    }
    if (others == 0) continue;
    parts.push_back({most, mean / others, spread / others});
    rows += most;
    sum += most * mean / others;
  }
  if (parts.empty()) return {};
  const double value = sum / rows;
  double variance = 0;
  for (const Part& p : parts)
    variance += p.rows * (p.spread * p.spread + (p.mean - value) * (p.mean - value)) / rows;
  const double half = normal_quantile(confidence) * std::sqrt(variance / rows);
  return {value, std::max(0.0, value - half), std::min(1.0, value + half),
          IntervalKind::normal};
}

FlipReport FlipTally::report_sums(const FlipOptions& options, const Exec& exec) const {
  FlipReport report;
  const auto figure = [&](const GapBins& bins, Index of) {
    return bins.interval(of - bins.count(), options.confidence, options.replicates, exec,
                         options.intervals);
  };
  report.co = figure(co_, units_);
  report.co_tv = figure(tv_, units_);
  report.flip_rate = figure(flip_, units_);
  if (!plan_.by_value) return report;
  report.co_large = large_gap(large_values(rows_, options.min_rows), options.confidence);
  for (std::int32_t from = 0; from < plan_.values; ++from) {
    for (std::int32_t to = 0; to < plan_.values; ++to) {
      if (to == from) continue;
      const Cell& own = cells_[at(from * plan_.values + to)];
      FlipCell cell{.from = from, .to = to, .rows = own.pairs, .co = {}};
      cell.co = figure(own.gap, std::max(own.pairs, rows_[at(from)]));
      report.cells.push_back(cell);
    }
  }
  return report;
}

FlipReport flip_report(const FlipTally& tally, const FlipOptions& options,
                       const Exec& exec) {
  FlipReport report;
  if (tally.pairs_ > 0)
    report = tally.keeping_ ? tally.report_kept(options, exec)
                            : tally.report_sums(options, exec);
  report.units = tally.units_;
  report.pairs = tally.pairs_;
  if (tally.pairs_ == 0) return report;
  const std::vector<bool> large = large_values(tally.rows_, options.min_rows);
  report.large_values = std::count(large.begin(), large.end(), true);
  report.share_still =
      static_cast<double>(tally.still_) / static_cast<double>(tally.pairs_);
  for (FlipCell& cell : report.cells) {
    const auto& own = tally.cells_[at(cell.from * tally.plan_.values + cell.to)];
    const auto known = static_cast<double>(own.gap.count());
    cell.rows = own.pairs;
    cell.signed_change =
        known == 0 ? kUndefined
                   : (own.rises.value(kChangeUnit) - own.falls.value(kChangeUnit)) / known;
    cell.flip_rate =
        own.pairs == 0 ? kUndefined
                       : static_cast<double>(own.flipped) / static_cast<double>(own.pairs);
  }
  report.worst = worst_cell(report.cells, large);
  if (tally.plan_.figures) report.figures = tally.gaps_.figures(options.confidence);
  return report;
}

}  // namespace fmd
