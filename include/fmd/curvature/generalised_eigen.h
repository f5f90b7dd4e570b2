#pragma once

#include "fmd/core/types.h"

namespace fmd {

// All solutions of A u = g B u, U^T B U = I, eigenvalues ascending (LAPACK dsygvd).
// B must be positive definite: Error(numerical) otherwise.
struct GeneralisedEigen {
  Vector values;
  Matrix vectors;  // column j belongs to values[j]
};
[[nodiscard]] GeneralisedEigen generalised_eigen(const Matrix& A, const Matrix& B);

}  // namespace fmd
