#include "fmd/metrics/counterfactual.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/sums.h"

namespace fmd {
namespace {

constexpr double kStill = 1e-6;  // a smaller change of the probability counts as none

// What one pair contributes. gap is NaN where the label would have to be known and is not.
struct Pair {
  double gap = 0, tv = 0, change = 0, flipped = 0;
};

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

Pair pair_of(const PairScores& s, Index i) {
  const Index classes = s.p.cols();
  Pair pair;
  if (classes == 2) {
    pair.change = s.pbar(i, 1) - s.p(i, 1);
    pair.gap = pair.tv = std::abs(pair.change);
  } else {
    pair.tv = (s.pbar.row(i) - s.p.row(i)).lpNorm<1>() / 2;
    const std::int32_t y = s.y.empty() ? -1 : s.y[at(i)];
    pair.change = y < 0 ? kUndefined : s.pbar(i, y) - s.p(i, y);
    pair.gap = std::abs(pair.change);
  }
  pair.flipped = s.decision[at(i)] != s.decision_bar[at(i)] ? 1 : 0;
  return pair;
}

void validate(const PairScores& s) {
  const Index pairs = s.p.rows();
  const auto size = [&](const char* name, std::size_t has) {
    require_size("flip_report", name, static_cast<Index>(has), pairs);
  };
  size("pbar", at(s.pbar.rows()));
  require_size("flip_report", "a row of pbar", s.pbar.cols(), s.p.cols());
  require_option(pairs == 0 || s.p.cols() >= 2, "flip_report", "classes", s.p.cols(),
                 ">= 2");
  size("decision", s.decision.size());
  size("decision_bar", s.decision_bar.size());
  size("unit", s.unit.size());
  if (!s.y.empty()) size("y", s.y.size());
  if (!s.weight.empty()) size("weight", s.weight.size());
  size("from", s.from.empty() ? at(pairs) : s.from.size());
  size("to", s.from.size() == s.to.size() ? at(pairs) : s.to.size());
  for (const std::int32_t y : s.y)
    require_option(y >= -1 && y < s.p.cols(), "flip_report", "y", y, "a class, or -1");
  for (const float w : s.weight) require_option(w > 0, "flip_report", "weight", w, "> 0");
}

double weight_of(const PairScores& s, Index i) {
  return s.weight.empty() ? 1.0 : static_cast<double>(s.weight[at(i)]);
}

// First pair of each unit, and the number of pairs at the end.
std::vector<Index> unit_starts(const PairScores& s) {
  std::vector<Index> starts;
  const auto pairs = static_cast<Index>(s.unit.size());
  for (Index i = 0; i < pairs; ++i)
    if (i == 0 || s.unit[at(i)] != s.unit[at(i - 1)]) starts.push_back(i);
  starts.push_back(pairs);
  return starts;
}

// Units whose own value is v, by v.
std::vector<Index> rows_by_value(const PairScores& s, const std::vector<Index>& starts,
                                 Index values) {
  std::vector<Index> rows(at(values), 0);
  if (s.from.empty()) return rows;
  for (std::size_t u = 0; u + 1 < starts.size(); ++u) ++rows[at(s.from[at(starts[u])])];
  return rows;
}

void require_values(const PairScores& s, Index values) {
  for (const auto* side : {&s.from, &s.to})
    for (const std::int32_t v : *side)
      require_option(v >= 0 && v < values, "flip_report", "value", v,
                     fmt::format("between 0 and {}", values - 1));
}

// Means over the pairs of a unit, and whether there is one: numerators beside denominators,
// so that a sum of resampled rows gives ratios.
enum Column { kCo, kLabelled, kTv, kFlip, kLargeCo, kLarge, kColumns };

Matrix unit_statistics(const PairScores& s, const std::vector<Index>& starts,
                       const std::vector<bool>& large, Index* still) {
  Matrix statistics = Matrix::Zero(static_cast<Index>(starts.size()) - 1, kColumns);
  for (Index u = 0; u < statistics.rows(); ++u) {
    double sum[kColumns] = {};
    double all = 0;
    for (Index i = starts[at(u)]; i < starts[at(u) + 1]; ++i) {
      const Pair pair = pair_of(s, i);
      const double w = weight_of(s, i);
      const bool known = !std::isnan(pair.gap);
      const bool both =
          known && !s.from.empty() && large[at(s.from[at(i)])] && large[at(s.to[at(i)])];
      all += w;
      sum[kTv] += w * pair.tv;
      sum[kFlip] += w * pair.flipped;
      if (known) sum[kCo] += w * pair.gap, sum[kLabelled] += w;
      if (both) sum[kLargeCo] += w * pair.gap, sum[kLarge] += w;
      *still += pair.tv < kStill;
    }
    for (const auto& [mean, weight] : {std::pair{kCo, kLabelled}, {kLargeCo, kLarge}}) {
      if (sum[weight] == 0) continue;
      statistics(u, mean) = sum[mean] / sum[weight];
      statistics(u, weight) = 1;
    }
    for (const Column mean : {kTv, kFlip}) statistics(u, mean) = sum[mean] / all;
  }
  return statistics;
}

// sum of one column over the sum of another (-1: over the number of rows).
Interval ratio(const Vector& total, const Matrix& replicates, Index rows, Index numerator,
               Index denominator, double confidence) {
  const auto divide = [](double a, double b) { return b == 0 ? kUndefined : a / b; };
  const double n = static_cast<double>(rows);
  std::vector<double> values(at(replicates.rows()));
  for (Index r = 0; r < replicates.rows(); ++r)
    values[at(r)] =
        divide(replicates(r, numerator), denominator < 0 ? n : replicates(r, denominator));
  return percentile(divide(total(numerator), denominator < 0 ? n : total(denominator)),
                    std::move(values), confidence);
}

Vector column_sums(const Matrix& statistics, const Exec& exec) {
  return sum_rows(
      statistics.rows(), statistics.cols(),
      [&](Vector& s, Index i) { s += statistics.row(i).transpose(); }, exec);
}

// The cells of one own value: its rows against each other value. One resampling serves them
// all.
void add_cells(const PairScores& s, const std::vector<Index>& starts, std::int32_t from,
               Index values, const FlipOptions& options, const Exec& exec,
               std::vector<FlipCell>& cells) {
  std::vector<Index> units;
  for (Index u = 0; u + 1 < static_cast<Index>(starts.size()); ++u)
    if (s.from[at(starts[at(u)])] == from) units.push_back(u);
  // Per value: gaps, pairs with a known gap; beside them changes, flips and all pairs.
  Matrix gaps = Matrix::Zero(static_cast<Index>(units.size()), 2 * values);
  Matrix others = Matrix::Zero(gaps.rows(), 3 * values);
  for (Index row = 0; row < gaps.rows(); ++row) {
    const Index u = units[at(row)];
    for (Index i = starts[at(u)]; i < starts[at(u) + 1]; ++i) {
      const Pair pair = pair_of(s, i);
      const Index to = s.to[at(i)];
      if (!std::isnan(pair.gap)) gaps(row, 2 * to) += pair.gap, gaps(row, 2 * to + 1) += 1;
      if (!std::isnan(pair.change)) others(row, 3 * to) += pair.change;
      others(row, 3 * to + 1) += pair.flipped;
      others(row, 3 * to + 2) += 1;
    }
  }
  const Vector total = column_sums(gaps, exec), other = column_sums(others, exec);
  const Matrix replicates = bootstrap_sums(gaps, options.replicates, exec);
  for (std::int32_t to = 0; to < values; ++to) {
    if (to == from) continue;
    FlipCell cell{
        .from = from, .to = to, .rows = static_cast<Index>(other(3 * to + 2)), .co = {}};
    const double pairs = static_cast<double>(cell.rows), known = total(2 * to + 1);
    cell.co = ratio(total, replicates, 0, 2 * to, 2 * to + 1, options.confidence);
    cell.signed_change = known == 0 ? kUndefined : other(3 * to) / known;
    cell.flip_rate = cell.rows == 0 ? kUndefined : other(3 * to + 1) / pairs;
    cells.push_back(cell);
  }
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

}  // namespace

FlipReport flip_report(const PairScores& scores, Index values, const FlipOptions& options,
                       const Exec& exec) {
  validate(scores);
  require_values(scores, values);
  const std::vector<Index> starts = unit_starts(scores);
  FlipReport report;
  report.units = static_cast<Index>(starts.size()) - 1;
  report.pairs = scores.p.rows();
  if (report.pairs == 0) return report;

  std::vector<bool> large;
  for (const Index rows : rows_by_value(scores, starts, values)) {
    large.push_back(rows >= options.min_rows && rows > 0);
    report.large_values += large.back();
  }
  Index still = 0;
  const Matrix statistics = unit_statistics(scores, starts, large, &still);
  const Vector total = column_sums(statistics, exec);
  const Matrix replicates = bootstrap_sums(statistics, options.replicates, exec);
  const auto figure = [&](Index numerator, Index denominator) {
    return ratio(total, replicates, report.units, numerator, denominator,
                 options.confidence);
  };
  report.co = figure(kCo, kLabelled);
  report.co_tv = figure(kTv, -1);
  report.flip_rate = figure(kFlip, -1);
  report.co_large = figure(kLargeCo, kLarge);
  report.share_still = static_cast<double>(still) / static_cast<double>(report.pairs);
  if (scores.from.empty()) return report;
  for (std::int32_t from = 0; from < values; ++from)
    add_cells(scores, starts, from, values, options, exec, report.cells);
  report.worst = worst_cell(report.cells, large);
  return report;
}

Vector unit_gaps(const PairScores& scores, const std::string& measure) {
  const bool known = measure == "co" || measure == "co_tv" || measure == "flip_rate";
  require_option(known, "unit_gaps", "measure", measure, "co, co_tv or flip_rate");
  validate(scores);
  const std::vector<Index> starts = unit_starts(scores);
  Vector gaps(static_cast<Index>(starts.size()) - 1);
  for (Index u = 0; u < gaps.size(); ++u) {
    double sum = 0, weight = 0;
    for (Index i = starts[at(u)]; i < starts[at(u) + 1]; ++i) {
      const Pair pair = pair_of(scores, i);
      const double gap = measure == "co"      ? pair.gap
                         : measure == "co_tv" ? pair.tv
                                              : pair.flipped;
      if (std::isnan(gap)) continue;
      sum += weight_of(scores, i) * gap;
      weight += weight_of(scores, i);
    }
    gaps(u) = weight == 0 ? kUndefined : sum / weight;
  }
  return gaps;
}

}  // namespace fmd
