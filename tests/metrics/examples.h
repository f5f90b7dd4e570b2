#pragma once

#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/confusion.h"

namespace fmd {

// The tables of two groups.
inline const Confusion kU{.tp = 30, .fp = 5, .tn = 45, .fn = 20};
inline const Confusion kP{.tp = 40, .fp = 10, .tn = 30, .fn = 20};

// Probabilities of both classes from those of class 1.
inline Matrix two_classes(const std::vector<double>& p1) {
  Matrix p(static_cast<Index>(p1.size()), 2);
  for (Index i = 0; i < p.rows(); ++i) {
    p(i, 1) = p1[static_cast<std::size_t>(i)];
    p(i, 0) = 1 - p(i, 1);
  }
  return p;
}

}  // namespace fmd
