#pragma once

#include <chrono>
#include <ctime>

#include "core/internal.h"

namespace fmd::internal {

// Seconds of the wall and of this process: differences of two are what some work took.
struct Clock {
  double wall, cpu;
  static Clock now() {
    const std::chrono::duration<double> wall =
        std::chrono::steady_clock::now().time_since_epoch();
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return {wall.count(),
            static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec)};
  }
};

}  // namespace fmd::internal
