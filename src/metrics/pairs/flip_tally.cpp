#include "fmd/metrics/flip_tally.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/metrics/bca.h"
#include "metrics/pairs/pair_values.h"
#include "metrics/statistics/divide.h"
#include "metrics/tally/saved_state.h"

namespace fmd {
namespace {

constexpr double kStill = 1e-6;  // a smaller change of the probability counts as none
constexpr int kChangeUnit = 60;
constexpr std::uint32_t kFlipFormat = 2;

void require_values(const PairScores& s, Index values) {
  for (const auto* side : {&s.from, &s.to})
    for (const std::int32_t v : *side)
      if (v < 0 || v >= values)
        require_option(false, "flip_report", "value", v,
                       fmt::format("between 0 and {}", values - 1));
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Means over the pairs of a unit, and 1 where there is a mean: numerators and denominators,
// so that a sum of resampled rows gives ratios.
enum FlipColumn { kCo, kLabelled, kTv, kFlip, kLargeCo, kLarge, kFlipColumns };

// Acceleration of ratio_interval(), from the ratio without each row.
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

// Sum of one column / sum of another one (-1: / number of rows).
Interval ratio_interval(const Matrix& statistics, const Vector& total,
                        const Matrix& replicates, Index numerator, Index denominator,
                        const FlipOptions& options) {
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

int worst_flip_cell(const std::vector<FlipCell>& cells, const std::vector<bool>& large) {
  int worst = -1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const FlipCell& cell = cells[c];
    if (!cell.co.defined() || !large[at(cell.from)] || !large[at(cell.to)]) continue;
    if (worst < 0 || cell.co.value > cells[at(worst)].co.value) worst = static_cast<int>(c);
  }
  return worst;
}

// The largest gap of any pair of values. The interval of each is widened until all of them
// hold together: then the largest ends hold whichever pair the sample shows as the worst.
Interval worst_gap(const std::vector<FlipCell>& cells, const std::vector<bool>& large,
                   double confidence) {
  std::vector<Interval> gaps;
  for (const FlipCell& cell : cells)
    if (cell.co.defined() && large[at(cell.from)] && large[at(cell.to)])
      gaps.push_back(cell.co);
  if (gaps.empty()) return {};
  const double factor = normal_quantile(adjusted_confidence(confidence, std::ssize(gaps))) /
                        normal_quantile(confidence);
  Interval worst{0, 0, 0, gaps[0].kind};
  for (const Interval& gap : gaps) {
    const double low = gap.value - factor * (gap.value - gap.low),
                 high = gap.value + factor * (gap.high - gap.value);
    worst.value = std::max(worst.value, gap.value);
    worst.low = std::isnan(low) ? low : std::max(worst.low, low);
    worst.high = std::isnan(high) ? high : std::max(worst.high, std::min(1.0, high));
  }
  return worst;
}

std::vector<bool> large_values(const std::vector<Index>& rows, Index min_rows) {
  std::vector<bool> large;
  for (const Index n : rows) large.push_back(n >= min_rows && n > 0);
  return large;
}

}  // namespace

FlipTally::FlipTally(FlipPlan plan) : plan_(plan), gaps_(std::max<Index>(0, plan.classes)) {
  require_option(plan.classes >= 2, "flips", "classes", plan.classes, ">= 2");
  require_option(plan.values >= 0 && plan.values < 1 << 14, "flips", "values", plan.values,
                 "between 0 and 16383");
  rows_.resize(at(plan.values), 0);
  if (plan.by_value) cells_.resize(at(plan.values * plan.values));
}

void FlipTally::add(const PairScores& s) {
  require_pairs(s);
  require_values(s, plan_.values);
  require_size("flip_report", "a row of p", s.p.cols(), plan_.classes);
  if (s.p.rows() > 0 && plan_.by_value == s.from.empty())
    throw Error(ErrorKind::bad_shape, "flips: pairs with and without values are mixed",
                "make one tally for each kind of pairs");
  Kept block;
  const std::vector<Index> starts = unit_starts(s);
  for (std::size_t u = 0; u + 1 < starts.size(); ++u)
    block.unit_pairs.push_back(starts[u + 1] - starts[u]);
  for (Index i = 0; i < s.p.rows(); ++i) {
    const PairValue pair = pair_value(s, i);
    if (!(pair.tv >= 0 && pair.tv <= 1 + 1e-9))
      throw Error(
          ErrorKind::bad_value,
          fmt::format("flips: pair {} has scores that are not probabilities", i + 1),
          "scores are numbers from 0 to 1");
    block.change.push_back(pair.change);
    block.tv.push_back(pair.tv);
    block.weight.push_back(static_cast<float>(pair_weight(s, i)));
    block.flipped.push_back(pair.flipped ? 1 : 0);
    still_ += pair.tv < kStill ? 1 : 0;
  }
  block.from = s.from;
  block.to = s.to;
  for (std::size_t u = 0; u + 1 < starts.size(); ++u)
    add_unit(block, at(starts[u]), at(starts[u + 1]));
  add_cells(block);
  if (plan_.figures) gaps_.add(s);
  units_ += static_cast<Index>(starts.size()) - 1;
  pairs_ += s.p.rows();
  drop_or_keep(block);
}

void FlipTally::add_unit(const Kept& block, std::size_t first, std::size_t last) {
  double co = 0, known = 0, tv = 0, flip = 0, all = 0;
  for (std::size_t i = first; i < last; ++i) {
    const auto w = static_cast<double>(block.weight[i]);
    all += w;
    tv += w * block.tv[i];
    flip += block.flipped[i] != 0 ? w : 0;
    if (std::isnan(block.change[i])) continue;
    co += w * std::abs(block.change[i]);
    known += w;
  }
  if (known > 0) co_.add(co / known);
  tv_.add(tv / all);
  flip_.add(flip / all);
  if (plan_.by_value) ++rows_[at(block.from[first])];
}

void FlipTally::add_cells(const Kept& block) {
  if (!plan_.by_value) return;
  for (std::size_t i = 0; i < block.change.size(); ++i) {
    Cell& cell = cells_[at(block.from[i] * plan_.values + block.to[i])];
    ++cell.pairs;
    cell.flipped += block.flipped[i];
    const double change = block.change[i];
    if (std::isnan(change)) continue;
    cell.gap.add(std::abs(change));
    (change < 0 ? cell.falls : cell.rises).add(std::abs(change), kChangeUnit);
  }
}

void FlipTally::drop_or_keep(const Kept& block) {
  keeping_ = keeping_ && units_ <= plan_.keep_units && pairs_ <= plan_.keep_pairs;
  if (!keeping_) {
    kept_ = {};
    return;
  }
  append(kept_.unit_pairs, block.unit_pairs);
  append(kept_.change, block.change);
  append(kept_.tv, block.tv);
  append(kept_.weight, block.weight);
  append(kept_.from, block.from);
  append(kept_.to, block.to);
  append(kept_.flipped, block.flipped);
}

void FlipTally::merge(const FlipTally& other) {
  FlipPlan theirs = other.plan_;
  theirs.keep_units = plan_.keep_units;
  theirs.keep_pairs = plan_.keep_pairs;
  if (!(plan_ == theirs))
    throw Error(ErrorKind::bad_shape, "flips: two tallies of different plans",
                "merge tallies that were made from the same plan");
  // Releases differ in how many pairs they keep; the smaller number serves both.
  plan_.keep_units = std::min(plan_.keep_units, other.plan_.keep_units);
  plan_.keep_pairs = std::min(plan_.keep_pairs, other.plan_.keep_pairs);
  units_ += other.units_, pairs_ += other.pairs_, still_ += other.still_;
  co_.merge(other.co_);
  tv_.merge(other.tv_);
  flip_.merge(other.flip_);
  gaps_.merge(other.gaps_);
  for (std::size_t v = 0; v < rows_.size(); ++v) rows_[v] += other.rows_[v];
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    Cell& to = cells_[c];
    const Cell& from = other.cells_[c];
    to.gap.merge(from.gap);
    to.rises.add(from.rises);
    to.falls.add(from.falls);
    to.pairs += from.pairs;
    to.flipped += from.flipped;
  }
  keeping_ = keeping_ && other.keeping_;
  drop_or_keep(other.kept_);
}

void FlipTally::save(ByteWriter& out) const {
  out.put(kFlipFormat);
  for (const Index n : {plan_.classes, plan_.values, plan_.keep_units, plan_.keep_pairs,
                        units_, pairs_, still_})
    out.put(n);
  for (const bool flag : {plan_.by_value, plan_.figures, keeping_})
    out.put(static_cast<std::uint8_t>(flag));
  for (const GapBins* bins : {&co_, &tv_, &flip_}) bins->save(out);
  gaps_.save(out);
  put_all(out, rows_);
  for (const Cell& cell : cells_) {
    cell.gap.save(out);
    out.put(cell.rises);
    out.put(cell.falls);
    out.put(cell.pairs);
    out.put(cell.flipped);
  }
  put_all(out, kept_.unit_pairs);
  put_all(out, kept_.change);
  put_all(out, kept_.tv);
  put_all(out, kept_.weight);
  put_all(out, kept_.from);
  put_all(out, kept_.to);
  put_all(out, kept_.flipped);
}

FlipTally FlipTally::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kFlipFormat) damaged_state("flips");
  FlipPlan plan;
  plan.classes = in.get<Index>();
  plan.values = in.get<Index>();
  plan.keep_units = in.get<Index>();
  plan.keep_pairs = in.get<Index>();
  const auto units = in.get<Index>(), pairs = in.get<Index>(), still = in.get<Index>();
  plan.by_value = in.get<std::uint8_t>() != 0;
  plan.figures = in.get<std::uint8_t>() != 0;
  const bool keeping = in.get<std::uint8_t>() != 0;
  const bool possible = plan.classes >= 2 && plan.values >= 0 && plan.values < 1 << 14;
  if (!possible || at(plan.classes) > in.left() / 56 || at(plan.values) * 8 > in.left() ||
      (plan.by_value && at(plan.values * plan.values) * 72 > in.left()))
    damaged_state("flips");
  FlipTally tally(plan);
  tally.units_ = units, tally.pairs_ = pairs, tally.still_ = still;
  tally.keeping_ = keeping;
  for (GapBins* bins : {&tally.co_, &tally.tv_, &tally.flip_}) bins->load(in);
  tally.gaps_.load(in);
  tally.rows_ = in.get_array<Index>();
  if (tally.rows_.size() != at(plan.values)) damaged_state("flips");
  for (Cell& cell : tally.cells_) {
    cell.gap.load(in);
    cell.rises = in.get<ExactSum>();
    cell.falls = in.get<ExactSum>();
    cell.pairs = in.get<Index>();
    cell.flipped = in.get<Index>();
  }
  Kept& kept = tally.kept_;
  kept.unit_pairs = in.get_array<Index>();
  kept.change = in.get_array<double>();
  kept.tv = in.get_array<double>();
  kept.weight = in.get_array<float>();
  kept.from = in.get_array<std::int32_t>();
  kept.to = in.get_array<std::int32_t>();
  kept.flipped = in.get_array<std::uint8_t>();
  const std::size_t count = keeping ? at(pairs) : 0, valued = plan.by_value ? count : 0;
  Index sum = 0;
  for (const Index n : kept.unit_pairs) {
    if (n < 1 || n > pairs - sum) damaged_state("flips");
    sum += n;
  }
  const bool sized = at(sum) == count && kept.change.size() == count &&
                     kept.tv.size() == count && kept.weight.size() == count &&
                     kept.flipped.size() == count && kept.from.size() == valued &&
                     kept.to.size() == valued &&
                     static_cast<Index>(kept.unit_pairs.size()) == (keeping ? units : 0);
  if (!sized) damaged_state("flips");
  for (const auto* side : {&kept.from, &kept.to})
    for (const std::int32_t v : *side)
      if (v < 0 || v >= plan.values) damaged_state("flips");
  return tally;
}

FlipReport FlipTally::report_kept(const FlipOptions& options, const Exec& exec) const {
  const std::vector<bool> large = large_values(rows_, options.min_rows);
  const bool valued = plan_.by_value;
  std::vector<std::size_t> start = {0};
  for (const Index n : kept_.unit_pairs) start.push_back(start.back() + at(n));

  Matrix statistics = Matrix::Zero(units_, kFlipColumns);
  for (Index u = 0; u < units_; ++u) {
    double sum[kFlipColumns] = {}, all = 0;
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
    for (const FlipColumn mean : {kTv, kFlip}) statistics(u, mean) = sum[mean] / all;
  }
  const Vector total = column_sums(statistics);
  const Matrix replicates = bootstrap_sums(statistics, options.replicates, exec);
  const auto figure = [&](Index numerator, Index denominator) {
    return ratio_interval(statistics, total, replicates, numerator, denominator, options);
  };
  FlipReport report;
  report.co = figure(kCo, kLabelled);
  report.co_tv = figure(kTv, -1);
  report.flip_rate = figure(kFlip, -1);
  report.co_large = figure(kLargeCo, kLarge);
  if (!valued) return report;

  // The cells of the rows with one value, towards each other value. All of them share one
  // resampling. Two columns per value: gaps, pairs with a known gap.
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
      cell.co = ratio_interval(gaps, sums, drawn, 2 * to, 2 * to + 1, options);
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
  report.worst = worst_flip_cell(report.cells, large);
  report.co_worst = worst_gap(report.cells, large, options.confidence);
  if (tally.plan_.figures) report.figures = tally.gaps_.figures(options.confidence);
  return report;
}

}  // namespace fmd
