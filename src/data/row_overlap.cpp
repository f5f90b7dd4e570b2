#include "fmd/data/row_overlap.h"

#include <algorithm>
#include <cmath>

#include "fmd/data/table.h"

namespace fmd {

double Twins::share() const {
  return rows == 0 ? 0 : static_cast<double>(twins) / static_cast<double>(rows);
}

Twins count_twins(std::span<const std::uint64_t> sorted) {
  Twins result{.rows = std::ssize(sorted)};
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    const Index copies = last - first;
    ++result.distinct;
    result.twins += copies > 1 ? copies : 0;
    result.most_copies = std::max(result.most_copies, copies);
    first = last;
  }
  return result;
}

bool beyond_chance(Index found, double by_chance, Index rows, Index other_rows) {
  if (rows == 0 || other_rows == 0) return false;
  const double ratio = static_cast<double>(rows) / static_cast<double>(other_rows);
  // The number of twins is Poisson; that it is expected from pairs of other rows, which
  // come two at a time, adds twice its variance, scaled to this table.
  const double variance = by_chance * (1 + 2 * ratio) + 1 + 2 * ratio * ratio;
  return static_cast<double>(found) > by_chance + 4 * std::sqrt(variance);
}

bool RowOverlap::beyond_chance() const {
  return same_set || fmd::beyond_chance(shared, by_chance, rows, other_rows) ||
         fmd::beyond_chance(other_shared, other_by_chance, other_rows, rows);
}

namespace {

// How many of `rows` rows meet a twin in the other table by chance. The rows' own twins
// bound it: a larger table meets a row at most as much more often as it is larger. The
// bound stands four standard errors above what was counted.
double expected_by_chance(const Twins& rows, const Twins& other) {
  const double count = static_cast<double>(rows.rows);
  const double twins = static_cast<double>(rows.twins);
  const double larger = std::max(1.0, static_cast<double>(other.rows) / count);
  const double bound = (twins + 4 * std::sqrt(2 * twins + 4)) / count * larger;
  return std::min(other.share(), std::min(1.0, bound)) * count;
}

}  // namespace

RowOverlap row_overlap(std::span<const std::uint64_t> rows,
                       std::span<const std::uint64_t> other) {
  RowOverlap result;
  result.rows = std::ssize(rows);
  result.other_rows = std::ssize(other);
  if (rows.empty() || other.empty()) return result;
  const Twins own = count_twins(rows), others = count_twins(other);
  result.shared = overlap(rows, other);
  result.other_shared = overlap(other, rows);
  result.by_chance = expected_by_chance(own, others);
  result.other_by_chance = expected_by_chance(others, own);
  result.same_set = std::equal(rows.begin(), rows.end(), other.begin(), other.end());
  return result;
}

std::vector<std::uint64_t> sorted_hashes(std::vector<std::uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

}  // namespace fmd
