#include "fmd/metrics/matched.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/check.h"
#include "core/index.h"

namespace fmd {
namespace {

// Some of the rows of a pair, in ascending order, and the pair's part of the mean.
struct SharedRows {
  std::array<Index, 3> rows;
  double part;
  bool operator<(const SharedRows& other) const { return rows < other.rows; }
};

// Sum over equal sets of rows of (sum of parts)^2.
double squared_sums(std::vector<SharedRows> shares) {
  std::stable_sort(shares.begin(), shares.end());
  double total = 0;
  for (std::size_t i = 0; i < shares.size();) {
    double sum = 0;
    const auto& rows = shares[i].rows;
    for (; i < shares.size() && shares[i].rows == rows; ++i) sum += shares[i].part;
    total += sum * sum;
  }
  return total;
}

// Sum of the products of the parts of any two pairs that share at least one row; a pair
// also counts with itself. By inclusion and exclusion over one, two and three shared rows.
double shared_variance(const Vector& part,
                       const std::vector<const std::vector<Index>*>& rows) {
  const std::size_t k = rows.size();
  double total = 0;
  for (std::size_t size = 1; size <= k; ++size) {
    std::vector<SharedRows> shares;
    for (unsigned members = 1; members < 1U << k; ++members) {
      if (static_cast<std::size_t>(__builtin_popcount(members)) != size) continue;
      for (Index i = 0; i < part.size(); ++i) {
        SharedRows share{{-1, -1, -1}, part[i]};
        std::size_t next = 0;
        for (std::size_t j = 0; j < k; ++j)
          if ((members >> j & 1U) != 0) share.rows[next++] = (*rows[j])[at(i)];
        std::sort(share.rows.begin(), share.rows.begin() + static_cast<Index>(next));
        shares.push_back(share);
      }
    }
    total += (size % 2 == 1 ? 1 : -1) * squared_sums(std::move(shares));
  }
  return total;
}

}  // namespace

Interval shared_mean(const Vector& value, const std::vector<float>& weight,
                     const std::vector<const std::vector<Index>*>& rows,
                     double confidence) {
  require_size("matched pairs", "weight", std::ssize(weight), value.size());
  for (const auto* list : rows)
    require_size("matched pairs", "rows", std::ssize(*list), value.size());
  const double z = normal_quantile(confidence);
  if (value.size() == 0) return {};
  double sum = 0, total = 0;
  for (Index i = 0; i < value.size(); ++i) {
    sum += static_cast<double>(weight[at(i)]) * value[i];
    total += static_cast<double>(weight[at(i)]);
  }
  const double mean = sum / total;
  Vector part(value.size());
  for (Index i = 0; i < value.size(); ++i)
    part[i] = static_cast<double>(weight[at(i)]) * (value[i] - mean) / total;
  // The sum over shared rows may be below that of the source rows alone. Take the larger
  // one.
  const double alone = shared_variance(part, {rows[0]});
  const double error = z * std::sqrt(std::max(alone, shared_variance(part, rows)));
  return {mean, mean - error, mean + error, IntervalKind::normal};
}

MatchedResult matched_result(const MatchedGaps& gaps, double confidence) {
  require_size("matched pairs", "floor", gaps.floor.size(), gaps.gap.size());
  MatchedResult result;
  result.pairs = gaps.gap.size();
  result.rows = std::ssize(std::set<Index>(gaps.row.begin(), gaps.row.end()));
  result.co = shared_mean(gaps.gap, gaps.weight, {&gaps.row, &gaps.partner}, confidence);
  result.floor = shared_mean(gaps.floor, gaps.weight, {&gaps.row, &gaps.own}, confidence);
  result.excess = shared_mean(gaps.gap - gaps.floor, gaps.weight,
                              {&gaps.row, &gaps.partner, &gaps.own}, confidence);
  result.co.low = std::max(0.0, result.co.low);
  result.floor.low = std::max(0.0, result.floor.low);
  return result;
}

}  // namespace fmd
