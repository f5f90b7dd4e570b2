#pragma once

#include "fmd/core/types.h"
#include "support/problems.h"

// Small random matrices.
namespace fmd::test {

// Normal numbers.
inline Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  const Vector v = random_vector(rows * cols, seed);
  return Eigen::Map<const Matrix>(v.data(), rows, cols);
}

// A symmetric positive definite matrix.
inline Matrix positive(Index n, std::uint64_t seed) {
  const Matrix A = random_matrix(n + 5, n, seed);
  return A.transpose() * A;
}

}  // namespace fmd::test
