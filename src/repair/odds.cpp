#include "repair/odds.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"

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
                                  const IntervalOptions& options, const Exec& exec) {
  const LargeGroups groups =
      large_groups(problem.group(problem.holdout, repaired), problem.min_group);
  const Index cells = 2 * groups.count, models = std::ssize(after) + 1;
  const Matrix statistics = cell_statistics(problem, groups, before, after);
  const Vector sums = statistics.colwise().sum();
  const Matrix drawn = bootstrap_sums(statistics, options.replicates, exec);
  CandidateIntervals out;
  const double was = widest(sums.data() + cells, sums.data(), groups.count);
  for (Index m = 1; m < models; ++m) {
    const double is = widest(sums.data() + cells * (m + 1), sums.data(), groups.count);
    std::vector<double> values, changes;
    for (Index r = 0; r < drawn.rows(); ++r) {
      const double* row = drawn.data() + r * drawn.cols();
      values.push_back(widest(row + cells * (m + 1), row, groups.count));
      changes.push_back(values.back() - widest(row + cells, row, groups.count));
    }
    out.value.push_back(percentile(is, std::move(values), options.confidence));
    out.change.push_back(percentile(is - was, std::move(changes), options.confidence));
  }
  return out;
}

}  // namespace fmd::internal
