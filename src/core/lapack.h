#pragma once

#include "core/internal.h"

// The BLAS and LAPACK routines in use, by their Fortran names (Debian's OpenBLAS has no
// LAPACKE). Column-major: a row-major matrix is its transpose there.
namespace fmd::internal {
extern "C" {
void dgemm_(const char* transa, const char* transb, const int* m, const int* n,
            const int* k, const double* alpha, const double* a, const int* lda,
            const double* b, const int* ldb, const double* beta, double* c, const int* ldc);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
            const int* k, const float* alpha, const float* a, const int* lda,
            const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
void dsyrk_(const char* uplo, const char* trans, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* beta,
            double* c, const int* ldc);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a,
             const int* lda, double* b, const int* ldb, int* info);
void dtrsm_(const char* side, const char* uplo, const char* trans, const char* diag,
            const int* m, const int* n, const double* alpha, const double* a,
            const int* lda, double* b, const int* ldb);
void dpocon_(const char* uplo, const int* n, const double* a, const int* lda,
             const double* anorm, double* rcond, double* work, int* iwork, int* info);
void dsygvd_(const int* itype, const char* jobz, const char* uplo, const int* n, double* a,
             const int* lda, double* b, const int* ldb, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
}
}  // namespace fmd::internal
