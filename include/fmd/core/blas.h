#pragma once

#include <string>

namespace fmd {

struct BlasInfo {
  std::string
      library;  // what is linked, e.g. "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::string
      kernel;  // the kernel in use, e.g. "Haswell"; empty where the BLAS does not tell
  bool repaired = false;  // setup_blas() changed the kernel, see there
};

// Makes BLAS single-threaded (the pool over blocks gives the threads and keeps the bits)
// and works around OpenBLAS before 0.3.25, which takes recent Intel CPUs for a Pentium 4
// ("Prescott") and then runs 5 to 10 times too slow: when it says Prescott, the user has
// set no OPENBLAS_CORETYPE and the CPU has AVX2 or AVX-512, the right kernel is chosen.
// Another BLAS is left alone. Changes the process (environment, BLAS state): only for a
// program's main, before any thread.
BlasInfo setup_blas();

[[nodiscard]] BlasInfo blas_info();

// The kernel that suits this CPU ("Cooperlake", "SkylakeX", "Haswell"), empty below AVX2.
[[nodiscard]] std::string best_kernel();

}  // namespace fmd
