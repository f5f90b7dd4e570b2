#include "pipeline/odds_choice.h"

#include <algorithm>
#include <cmath>

#include "fmd/metrics/interval.h"

namespace fmd::internal {
namespace {

// Means per cell (group, favourable label or not) from sums; the widest gap of one label.
double widest(const double* scores, const double* counts, Index groups) {
  double gap = kUndefined;
  for (const Index label : {0, 1}) {
    double low = kUndefined, high = kUndefined;
    for (Index g = 0; g < groups; ++g) {
      const Index cell = 2 * g + label;
      if (counts[cell] <= 0) return kUndefined;  // a draw without that cell says nothing
      const double mean = scores[cell] / counts[cell];
      low = std::isnan(low) ? mean : std::min(low, mean);
      high = std::isnan(high) ? mean : std::max(high, mean);
    }
    gap = std::isnan(gap) ? high - low : std::max(gap, high - low);
  }
  return gap;
}

}  // namespace

OddsIntervals odds_intervals(const Vector& before, const std::vector<Vector>& after,
                             const OddsRows& rows, const AuditOptions& options,
                             const Exec& exec) {
  const Index cells = 2 * rows.groups, models = std::ssize(after) + 1;
  // Columns: counts of the cells, then each model's score sums.
  Matrix statistics = Matrix::Zero(before.size(), cells * (models + 1));
  for (Index i = 0; i < before.size(); ++i) {
    const std::int32_t group = rows.group[static_cast<std::size_t>(i)];
    if (group < 0) continue;
    const Index cell = 2 * group + (rows.favorable[static_cast<std::size_t>(i)] ? 1 : 0);
    statistics(i, cell) = 1;
    statistics(i, cells + cell) = before[i];
    for (Index m = 1; m < models; ++m)
      statistics(i, cells * (m + 1) + cell) = after[static_cast<std::size_t>(m - 1)][i];
  }
  const Vector sums = statistics.colwise().sum();
  const Matrix drawn = bootstrap_sums(statistics, options.replicates, exec);
  OddsIntervals out;
  const double was = widest(sums.data() + cells, sums.data(), rows.groups);
  for (Index m = 1; m < models; ++m) {
    const double is = widest(sums.data() + cells * (m + 1), sums.data(), rows.groups);
    std::vector<double> values, changes;
    for (Index r = 0; r < drawn.rows(); ++r) {
      const double* row = drawn.data() + r * drawn.cols();
      values.push_back(widest(row + cells * (m + 1), row, rows.groups));
      changes.push_back(values.back() - widest(row + cells, row, rows.groups));
    }
    out.value.push_back(percentile(is, std::move(values), options.confidence));
    out.change.push_back(percentile(is - was, std::move(changes), options.confidence));
  }
  return out;
}

}  // namespace fmd::internal
