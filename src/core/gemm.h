#pragma once

#include "core/lapack.h"
#include "fmd/core/types.h"

namespace fmd::internal {

enum class As { is, transposed };

// A matrix in memory, row after row, `stride` numbers from one row to the next.
template <typename T>
struct Strided {
  T* data;
  Index stride;
};

// C = A B + beta C for row-major matrices: C is m x n, the sum runs over k. Single-threaded
// BLAS.
inline void gemm(As a, As b, Index m, Index n, Index k, Strided<const double> A,
                 Strided<const double> B, double beta, Strided<double> C) {
  if (m == 0 || n == 0) return;
  const int rows = static_cast<int>(n), cols = static_cast<int>(m),
            depth = static_cast<int>(k), lda = static_cast<int>(B.stride),
            ldb = static_cast<int>(A.stride), ldc = static_cast<int>(C.stride);
  const double one = 1;
  dgemm_(b == As::is ? "N" : "T", a == As::is ? "N" : "T", &rows, &cols, &depth, &one,
         B.data, &lda, A.data, &ldb, &beta, C.data, &ldc);
}

inline void gemm(As a, As b, Index m, Index n, Index k, Strided<const float> A,
                 Strided<const float> B, float beta, Strided<float> C) {
  if (m == 0 || n == 0) return;
  const int rows = static_cast<int>(n), cols = static_cast<int>(m),
            depth = static_cast<int>(k), lda = static_cast<int>(B.stride),
            ldb = static_cast<int>(A.stride), ldc = static_cast<int>(C.stride);
  const float one = 1;
  sgemm_(b == As::is ? "N" : "T", a == As::is ? "N" : "T", &rows, &cols, &depth, &one,
         B.data, &lda, A.data, &ldb, &beta, C.data, &ldc);
}

}  // namespace fmd::internal
