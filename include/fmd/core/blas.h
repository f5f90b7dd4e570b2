#pragma once

#include <string>

namespace fmd {

struct BlasInfo {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."; for another BLAS the name of its file.
  std::string library;
  // The kernel in use, e.g. "Haswell"; empty where the BLAS does not say.
  std::string kernel;
  // setup_blas() changed the kernel, see there.
  bool repaired = false;
};

// Makes BLAS single-threaded (the pool over blocks gives the threads and keeps the bits)
// and works around a fault of OpenBLAS before 0.3.25: it takes recent Intel CPUs for a
// Pentium 4 ("Prescott") and then runs 5 to 10 times too slow. The right kernel is chosen
// when OpenBLAS says Prescott, the user has set no OPENBLAS_CORETYPE, and the CPU has AVX2
// or AVX-512. Another BLAS is not changed. setup_blas() changes the process (BLAS state;
// the variable is set and unset again): call it only in a program's main, before any
// thread. A second call does no harm.
BlasInfo setup_blas();

[[nodiscard]] BlasInfo blas_info();

// The kernel that suits this CPU ("Cooperlake", "SkylakeX", "Haswell"); empty below AVX2.
[[nodiscard]] std::string best_kernel();

}  // namespace fmd
