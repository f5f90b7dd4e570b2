#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/internal.h"
#include "fmd/metrics/confusion.h"

// Tables of groups: one as a list of counts that can be resampled and permuted, and several
// put together.
namespace fmd::internal {

// tp, fp, tn, fn, selected and rejected without a label.
inline constexpr std::size_t kConfusionCells = 6;

// Throws Error(bad_option) for sums of weights, which are not whole numbers.
inline std::vector<Index> confusion_counts(const char* where, const Confusion& c) {
  std::vector<Index> counts;
  for (const double count :
       {c.tp, c.fp, c.tn, c.fn, c.selected_unlabelled, c.rejected_unlabelled}) {
    require_option(count >= 0 && std::trunc(count) == count, where, "count", count,
                   "a whole number");
    counts.push_back(static_cast<Index>(count));
  }
  return counts;
}

inline Confusion confusion_of(std::span<const Index> counts) {
  const auto real = [&](std::size_t k) { return static_cast<double>(counts[k]); };
  return {real(0), real(1), real(2), real(3), real(4), real(5)};
}

inline Confusion together(const std::vector<Confusion>& groups) {
  Confusion all;
  for (const Confusion& group : groups) all.add(group);
  return all;
}

}  // namespace fmd::internal
