#pragma once

#include "core/internal.h"
#include "fmd/metrics/group.h"

namespace fmd::internal {

// The pair of groups that is farthest from equality, with the interval of the largest gap
// of any pair. Every pair is added once, with an interval that is adjusted for all pairs:
// then all of them hold together, and so do the largest ends.
class WidestPair {
 public:
  explicit WidestPair(bool ratio) : ratio_(ratio) {}

  // difference: of any sign; ratio: above or below 1.
  void add(const Comparison& pair);
  // Undefined when no pair was defined. Where a pair has no interval, there is none.
  [[nodiscard]] Comparison widest() const;

 private:
  [[nodiscard]] Comparison turned(Comparison pair) const;

  bool ratio_;
  Comparison widest_;
  double low_ = kUndefined, high_ = kUndefined;
  bool any_ = false, whole_ = true;
};

}  // namespace fmd::internal
