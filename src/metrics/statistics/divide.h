#pragma once

#include "core/internal.h"
#include "fmd/metrics/interval.h"

namespace fmd::internal {

// a / b, undefined where b is 0.
[[nodiscard]] inline double divide(double a, double b) {
  return b == 0 ? kUndefined : a / b;
}

}  // namespace fmd::internal
