#include "fmd/metrics/group_change.h"

#include "core/check.h"
#include "core/index.h"
#include "metrics/scores/scored_rows.h"
#include "metrics/statistics/divide.h"

namespace fmd {
namespace {

// What a rate says of one row: nothing, a miss or a hit.
enum class Outcome { none, miss, hit };

Outcome outcome(const Scored& scored, Index row, const std::string& rate) {
  const std::int32_t decision = scored.decision[at(row)];
  const std::int32_t y = scored.labelled() ? scored.y[at(row)] : -1;
  const auto of = [](bool hit) { return hit ? Outcome::hit : Outcome::miss; };
  if (rate == "accuracy") return y < 0 ? Outcome::none : of(decision == y);
  if (scored.favorable < 0) return Outcome::none;
  const bool chosen = decision == scored.favorable;
  if (rate == "selection_rate") return of(chosen);
  if (y < 0 || (y == scored.favorable) != (rate == "tpr")) return Outcome::none;
  return of(chosen);
}

// Cells of the table: group x before x after, and all other rows.
constexpr std::size_t kCells = 9;
constexpr std::size_t kRest = 8;

double change(std::span<const Index> table) {
  const auto group = [&](std::size_t g) {
    const Index *cell = table.data() + 4 * g, total = cell[0] + cell[1] + cell[2] + cell[3];
    // Hits after - hits before; rows that do not change cancel.
    return divide(static_cast<double>(cell[1] - cell[2]), static_cast<double>(total));
  };
  return group(0) - group(1);
}

Interval counted_change(const Scored& before, const Scored& after,
                        const std::vector<std::int32_t>& code, int first, int second,
                        const std::string& rate, double confidence, Index replicates,
                        const Exec& exec) {
  std::vector<Index> table(kCells, 0);
  for (Index i = 0; i < before.rows(); ++i) {
    const std::int32_t g = code[at(i)];
    const Outcome was = outcome(before, i, rate), is = outcome(after, i, rate);
    const bool counts = (g == first || g == second) && was != Outcome::none;
    const std::size_t cell = (g == first ? 0u : 4u) + (was == Outcome::hit ? 2u : 0u) +
                             (is == Outcome::hit ? 1u : 0u);
    ++table[counts ? cell : kRest];
  }
  std::vector<double> values;
  const CountTables tables = bootstrap_counts(table, replicates, exec);
  for (Index r = 0; r < tables.size(); ++r) values.push_back(change(tables[r]));
  return percentile(change(table), std::move(values), confidence);
}

// Mean scores have no table: rows are resampled, before and after together.
Interval score_change(const Scored& before, const Scored& after,
                      const std::vector<std::int32_t>& code, int first, int second,
                      double confidence, Index replicates, const Exec& exec) {
  if (before.favorable < 0) return {};
  Matrix statistics = Matrix::Zero(before.rows(), 4);
  for (Index i = 0; i < before.rows(); ++i) {
    const std::int32_t g = code[at(i)];
    if (g != first && g != second) continue;
    const Index at_column = g == first ? 0 : 2;
    statistics(i, at_column) = after.p(i, before.favorable) - before.p(i, before.favorable);
    statistics(i, at_column + 1) = 1;
  }
  const auto of = [](const auto& sums) {
    return divide(sums(0), sums(1)) - divide(sums(2), sums(3));
  };
  const Vector total = statistics.colwise().sum().transpose();
  const Matrix sums = bootstrap_sums(statistics, replicates, exec);
  std::vector<double> values;
  for (Index r = 0; r < sums.rows(); ++r) values.push_back(of(sums.row(r)));
  return percentile(of(total), std::move(values), confidence);
}

}  // namespace

Interval group_difference_change(const Scored& before, const Scored& after,
                                 const std::vector<std::int32_t>& code, int first,
                                 int second, const std::string& rate, double confidence,
                                 Index replicates, const Exec& exec) {
  const char* where = "group_difference_change";
  require_same_rows(where, before, after);
  require_size(where, "code", static_cast<Index>(code.size()), before.rows());
  require_option(before.favorable == after.favorable, where, "favorable", after.favorable,
                 "the same before and after");
  require_option(first != second && first >= 0 && second >= 0, where, "second", second,
                 "another group than first");
  if (rate == "mean_score")
    return score_change(before, after, code, first, second, confidence, replicates, exec);
  const bool known =
      rate == "selection_rate" || rate == "tpr" || rate == "fpr" || rate == "accuracy";
  require_option(known, where, "rate", rate,
                 "selection_rate, tpr, fpr, accuracy or mean_score");
  return counted_change(before, after, code, first, second, rate, confidence, replicates,
                        exec);
}

}  // namespace fmd
