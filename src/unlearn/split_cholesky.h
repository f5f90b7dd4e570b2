#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// The Cholesky factor of a symmetric matrix A. The columns of a category exclude each
// other, so that the curvature of a table with a long category has a large diagonal block.
// That block is eliminated first, and only what is left is factored as a dense matrix.
class SplitCholesky {
 public:
  // False where A is not positive definite. Of A the upper triangle is read, and it is
  // used up.
  [[nodiscard]] bool factor(Matrix& A);
  void solve(Vector& v) const;  // v = A^-1 v

 private:
  // The longest run of rows from first to first + count whose block is diagonal; none where
  // it is too short to pay.
  void find_block(const Matrix& A);

  Index first_ = 0, count_ = 0;  // the diagonal block
  Vector root_;                  // of its diagonal, inverted
  Matrix side_;                  // other rows x block, each column over the root
  Matrix factor_;                // of the other rows, lower triangle for LAPACK
};

}  // namespace fmd::internal
