#include "fmd/core/machine.h"

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {

TEST(Machine, KnowsItsCoresAndMemory) {
  const MachineInfo info = machine_info();
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.memory, Index{1} << 26);
}

TEST(Machine, EveryRateIsMeasuredEvenWithoutTime) {
  const MachineRates rates = measure_machine(1e-6);
  EXPECT_GT(rates.gemm_f64, 0);
  EXPECT_GT(rates.gemm_f32, 0);
  EXPECT_GT(rates.memory_read, 0);
  EXPECT_GT(rates.memory_copy, 0);
  EXPECT_GT(rates.cpu_share, 0);
}

TEST(Machine, RefusesABudgetOfNothing) {
  EXPECT_ERROR(measure_machine(0), ErrorKind::bad_option,
               "seconds_budget is 0, must be > 0");
}

}  // namespace fmd
