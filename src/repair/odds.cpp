#include "repair/odds.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/index.h"

namespace fmd::internal {
namespace {

// The largest difference of means of two groups, over the labels (1: favourable)
// together.
double widest_of(const double* scores, const double* counts, Index groups,
                 std::span<const Index> labels) {
  double low = kUndefined, high = kUndefined;
  for (Index g = 0; g < groups; ++g) {
    double sum = 0, count = 0;
    for (const Index label : labels) {
      sum += scores[2 * g + label];
      count += counts[2 * g + label];
    }
    if (count <= 0) return kUndefined;  // a draw without that cell says nothing
    const double mean = sum / count;
    low = std::isnan(low) ? mean : std::min(low, mean);
    high = std::isnan(high) ? mean : std::max(high, mean);
  }
  return high - low;
}

double widest(const double* scores, const double* counts, Index groups, GapLabels labels) {
  constexpr Index kLabels[] = {0, 1};
  const std::span<const Index> all(kLabels);
  if (labels == GapLabels::together) return widest_of(scores, counts, groups, all);
  const double favorable = widest_of(scores, counts, groups, all.last(1));
  if (labels == GapLabels::favorable) return favorable;
  const double other = widest_of(scores, counts, groups, all.first(1));
  return std::isnan(favorable) || std::isnan(other) ? kUndefined
                                                    : std::max(favorable, other);
}

// Columns: counts of the cells, then each model's score sums.
Matrix cell_statistics(const HeadProblem& problem, const LargeGroups& groups,
                       const Vector& before, const std::vector<Vector>& after) {
  const Rows& rows = problem.holdout.rows;
  const Index cells = 2 * groups.count, models = std::ssize(after) + 1;
  Matrix statistics = Matrix::Zero(before.size(), cells * (models + 1));
  for (Index i = 0; i < before.size(); ++i) {
    const std::int32_t group = groups.code[at(rows.row(i))];
    if (group < 0) continue;
    const Index cell = 2 * group + (rows.label(i) == problem.favorable ? 1 : 0);
    statistics(i, cell) = 1;
    statistics(i, cells + cell) = before[i];
    for (Index m = 1; m < models; ++m)
      statistics(i, cells * (m + 1) + cell) = after[at(m - 1)][i];
  }
  return statistics;
}

}  // namespace

LargeGroups large_groups(const GroupCodes& attribute, Index min_rows) {
  std::vector<Index> counts(at(attribute.values));
  for (const std::int32_t code : attribute.code)
    if (code >= 0) ++counts[at(code)];
  LargeGroups groups;
  std::vector<std::int32_t> number(counts.size(), -1);
  for (std::size_t v = 0; v < counts.size(); ++v)
    if (counts[v] >= min_rows) number[v] = static_cast<std::int32_t>(groups.count++);
  for (const std::int32_t code : attribute.code)
    groups.code.push_back(code < 0 ? -1 : number[at(code)]);
  return groups;
}

CandidateIntervals odds_intervals(const HeadProblem& problem, std::size_t repaired,
                                  const Vector& before, const std::vector<Vector>& after,
                                  GapLabels labels, const IntervalOptions& options,
                                  const Exec& exec) {
  const LargeGroups groups =
      large_groups(problem.group(problem.holdout, repaired), problem.min_group);
  const Index cells = 2 * groups.count, models = std::ssize(after) + 1;
  const Matrix statistics = cell_statistics(problem, groups, before, after);
  const Vector sums = statistics.colwise().sum();
  const Matrix drawn = bootstrap_sums(statistics, options.replicates, exec);
  CandidateIntervals out;
  const double was = widest(sums.data() + cells, sums.data(), groups.count, labels);
  for (Index m = 1; m < models; ++m) {
    const double is =
        widest(sums.data() + cells * (m + 1), sums.data(), groups.count, labels);
    std::vector<double> values, changes;
    for (Index r = 0; r < drawn.rows(); ++r) {
      const double* row = drawn.data() + r * drawn.cols();
      values.push_back(widest(row + cells * (m + 1), row, groups.count, labels));
      changes.push_back(values.back() - widest(row + cells, row, groups.count, labels));
    }
    out.value.push_back(percentile(is, std::move(values), options.confidence));
    out.change.push_back(percentile(is - was, std::move(changes), options.confidence));
  }
  return out;
}

}  // namespace fmd::internal
