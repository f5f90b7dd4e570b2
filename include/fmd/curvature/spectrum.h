#pragma once

#include <cstdint>

#include "fmd/core/types.h"

namespace fmd {

class GaussNewton;

// Eigenvalues of a symmetric operator. Only its products with vectors are known.
struct Spectrum {
  double largest = 0;  // eigenvalue, from below: Lanczos' largest Ritz value
  double mean = 0;     // eigenvalue: trace / size, by random probes
};

// Lanczos from a random start with full reorthogonalisation, `steps` products (fewer when
// an invariant space is found), and `probes` products for the mean. Deterministic per seed.
// Throws Error(bad_option, numerical).
[[nodiscard]] Spectrum estimate_spectrum(const GaussNewton& product, Index steps,
                                         Index probes, std::uint64_t seed);

}  // namespace fmd
