#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

namespace fmd {

// Sizes, row numbers and feature numbers, everywhere.
using Index = std::int64_t;

// Parameters, gradients, probabilities: always double. A row of a matrix is one sample.
using Vector = Eigen::VectorXd;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Bytes = std::vector<std::uint8_t>;

// Block b of n rows is rows [4096 b, min(n, 4096 (b + 1))): the one unit of work for
// threads, files and machines. Sums are merged block by block, so this number is part of
// the results' definition: another number changes last bits.
inline constexpr Index kBlockRows = 4096;

[[nodiscard]] constexpr Index block_count(Index rows) {
  return (rows + kBlockRows - 1) / kBlockRows;
}

}  // namespace fmd
