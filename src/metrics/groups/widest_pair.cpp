#include "metrics/groups/widest_pair.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace fmd::internal {
namespace {

Interval inverse(const Interval& i) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  return {1 / i.value, 1 / i.high, i.low > 0 ? 1 / i.low : kMost, i.kind};
}

}  // namespace

Comparison WidestPair::turned(Comparison pair) const {
  Interval& gap = pair.difference;
  // Equal groups have no first one: the interval serves both directions.
  if (gap.value == (ratio_ ? 1 : 0)) {
    gap.low = ratio_ ? std::min(gap.low, inverse(gap).low) : std::min(gap.low, -gap.high);
    gap.high = ratio_ ? inverse({1, gap.low, gap.low}).high : -gap.low;
    if (pair.first > pair.second) std::swap(pair.first, pair.second);
    return pair;
  }
  if (ratio_ ? gap.value < 1 : gap.value > 0) return pair;
  gap = ratio_ ? inverse(gap) : -gap;
  std::swap(pair.first, pair.second);
  return pair;
}

void WidestPair::add(const Comparison& pair) {
  if (!pair.difference.defined() || std::isnan(pair.difference.low) ||
      std::isnan(pair.difference.high))
    whole_ = false;
  if (!pair.difference.defined()) return;
  const Comparison found = turned(pair);
  const Interval& gap = found.difference;
  // Of equally wide pairs the one with the narrower interval, so that the numbering of
  // groups decides nothing.
  const auto rank = [&](const Interval& i) {
    return std::tuple(ratio_ ? -i.value : i.value, i.low - i.high);
  };
  if (!any_ || rank(gap) > rank(widest_.difference)) widest_ = found;
  if (ratio_) {
    const double low = std::min(gap.low, 1 / gap.high);
    low_ = any_ ? std::min(low_, low) : low;
    high_ = any_ ? std::min(high_, gap.high) : gap.high;
  } else {
    const double high = std::max(gap.high, -gap.low);
    low_ = any_ ? std::max(low_, gap.low) : gap.low;
    high_ = any_ ? std::max(high_, high) : high;
  }
  any_ = true;
}

Comparison WidestPair::widest() const {
  Comparison found = widest_;
  if (!any_) return found;
  found.difference.low = whole_ ? low_ : kUndefined;
  found.difference.high = whole_ ? high_ : kUndefined;
  if (!whole_) found.difference.kind = IntervalKind::none;
  return found;
}

}  // namespace fmd::internal
