#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

namespace fmd {

// Sizes, row numbers and feature numbers, everywhere.
using Index = std::int64_t;

// Parameters, gradients, probabilities: always double. Matrices have one sample a row.
using Vector = Eigen::VectorXd;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Bytes = std::vector<std::uint8_t>;

// Block b of n rows is rows [4096 b, min(n, 4096 (b + 1))): the one unit of work for
// threads, files and machines. The number is part of the results' definition (sums are
// merged block by block), so changing it changes last bits.
inline constexpr Index kBlockRows = 4096;

[[nodiscard]] constexpr Index block_count(Index rows) {
  return (rows + kBlockRows - 1) / kBlockRows;
}

}  // namespace fmd
