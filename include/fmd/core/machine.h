#pragma once

#include <string>

#include "fmd/core/types.h"

namespace fmd {

struct MachineInfo {
  std::string cpu;   // the system's name for it; empty where it has none
  int cores = 0;     // that this process may use
  Index memory = 0;  // bytes in the machine, 0 where unknown
};

[[nodiscard]] MachineInfo machine_info();

// What one thread of this machine can do at best: the limit that speeds are compared with.
// Each rate is the best of several short runs by wall clock. When the machine is busy with
// other work, cpu_share shows it, and the rates are lower than the limit.
struct MachineRates {
  double gemm_f64 = 0;     // GFLOP/s of C = A B in double, matrices of 512 x 512
  double gemm_f32 = 0;     // the same in float
  double memory_read = 0;  // GB/s (10^9) of reading 64 MiB from end to end
  double memory_copy = 0;  // GB/s of copying 64 MiB, each byte counted once
  // CPU time of the process divided by wall time over all runs. 1: it had a core to itself;
  // well below 1: the machine was busy; above 1: BLAS used several threads (see
  // setup_blas()).
  double cpu_share = 0;
};

// Takes about this many seconds; half a second is enough. Every rate is measured at least
// twice. Throws Error(bad_option) when the budget is not positive.
[[nodiscard]] MachineRates measure_machine(double seconds_budget);

}  // namespace fmd
