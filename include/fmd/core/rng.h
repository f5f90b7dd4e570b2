#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Seeded random numbers by counter: number i of a stream is a pure function of (seed,
// stream, i), so streams can be drawn in any order, by any thread, on any machine with the
// same result. A stream is named by what it is for ("split", "bootstrap") and a number
// (replicate, epoch).
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::string_view purpose = "", std::uint64_t number = 0);

  std::uint64_t next();  // 64 random bits
  double uniform();      // [0, 1), 53 bits
  Index below(Index n);  // 0 .. n-1 without bias; n > 0
  double normal();       // mean 0, standard deviation 1
  Index binomial(Index n,
                 double p);  // exact: inversion for small n p, rejection (BTRS) above

  // Counts of `total` draws over cells with these probabilities (divided by their sum).
  // Both throw Error(bad_option) on a probability outside [0, 1], NaN or a negative count.
  void multinomial(Index total, const std::vector<double>& probability,
                   std::vector<Index>& counts);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// 0 .. n-1 in random order.
[[nodiscard]] std::vector<Index> permutation(Index n, Rng& rng);

}  // namespace fmd
