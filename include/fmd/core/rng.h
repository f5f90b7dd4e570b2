#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Seeded random numbers by counter: number i of a stream is a pure function of (seed,
// stream, i). Streams can be drawn in any order, by any thread, on any machine, with the
// same result. A stream's name is its purpose ("split", "bootstrap") and a number
// (replicate, epoch).
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::string_view purpose = "", std::uint64_t number = 0);

  std::uint64_t next();  // 64 random bits
  double uniform();      // [0, 1), 53 bits
  Index below(Index n);  // 0 .. n-1 without bias; n > 0
  double normal();       // mean 0, standard deviation 1
  // Exact: inversion for small n p, rejection (BTRS) above.
  Index binomial(Index n, double p);

  // Counts of `total` draws over cells with these probabilities (divided by their sum).
  // binomial and multinomial throw Error(bad_option) on a probability outside [0, 1], NaN
  // or a negative count.
  void multinomial(Index total, const std::vector<double>& probability,
                   std::vector<Index>& counts);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// Many multinomial draws with the same probabilities: what they share is computed once. The
// numbers are those of Rng::multinomial.
class Multinomial {
 public:
  // Divided by their sum. Throws Error(bad_option) on a probability below 0, NaN or inf.
  explicit Multinomial(const std::vector<double>& probability);
  // counts has as many entries as there are probabilities; total > 0 needs a positive one.
  void draw(Index total, Rng& rng, std::span<Index> counts) const;

 private:
  struct Cell {
    std::size_t at;  // number of the cell; cells of probability 0 are left out
    double p;        // given that no earlier cell was hit
  };
  std::vector<Cell> cells_;
};

// 0 .. n-1 in random order.
[[nodiscard]] std::vector<Index> permutation(Index n, Rng& rng);

}  // namespace fmd
