#pragma once

#include "core/internal.h"
#include "fmd/core/types.h"

// Products and decompositions of square matrices as wide as a state, by BLAS and LAPACK:
// faster there than Eigen's own, whose templates also take half a minute to compile.
namespace fmd::internal {

[[nodiscard]] Matrix product(const Matrix& A, const Matrix& B);
[[nodiscard]] Matrix gram(const Matrix& rows);  // rows' rows

// Singular values of a matrix, the largest first, and the directions in its row space that
// they belong to, one a row. Throws Error(numerical).
struct RowSpace {
  Vector values;
  Matrix directions;
};
[[nodiscard]] RowSpace row_space_of(Matrix rows);

// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors, one a column. Throws
// Error(numerical).
struct SymmetricEigen {
  Vector values;
  Matrix vectors;
};
[[nodiscard]] SymmetricEigen symmetric_eigen(Matrix S);

// S = L L' of a positive definite matrix.
class CholeskyFactor {
 public:
  explicit CholeskyFactor(Matrix S);
  [[nodiscard]] bool ok() const { return ok_; }  // S is positive definite and finite
  [[nodiscard]] Vector solve(const Vector& b) const;
  // For each row b of B: S^-1 b, and L^-1 b.
  [[nodiscard]] Matrix solve_rows(Matrix B) const;
  [[nodiscard]] Matrix whiten_rows(Matrix B) const;

 private:
  Matrix L_;
  bool ok_;
};

}  // namespace fmd::internal
