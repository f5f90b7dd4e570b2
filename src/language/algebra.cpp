#include "language/algebra.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/gemm.h"
#include "curvature/cholesky.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

extern "C" {
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda,
             double* s, double* u, const int* ldu, double* vt, const int* ldvt,
             double* work, const int* lwork, int* iwork, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda,
             double* w, double* work, const int* lwork, int* iwork, const int* liwork,
             int* info);
}

void require_done(int info, const char* what) {
  if (info != 0)
    throw Error(ErrorKind::numerical,
                fmt::format("{} did not converge (LAPACK's code {})", what, info),
                "look for numbers that are not finite in the states");
}

}  // namespace

Matrix product(const Matrix& A, const Matrix& B) {
  Matrix C = Matrix::Zero(A.rows(), B.cols());
  if (A.cols() > 0)
    gemm(As::is, As::is, A.rows(), B.cols(), A.cols(), {A.data(), A.cols()},
         {B.data(), B.cols()}, 0.0, {C.data(), C.cols()});
  return C;
}

Matrix gram(const Matrix& rows) {
  const Index d = rows.cols();
  Matrix S = Matrix::Zero(d, d);
  if (rows.rows() > 0)
    gemm(As::transposed, As::is, d, d, rows.rows(), {rows.data(), d}, {rows.data(), d}, 0.0,
         {S.data(), d});
  return S;
}

// Row-major rows are the column-major transpose: its left singular vectors are columns
// there and rows here.
RowSpace row_space_of(Matrix rows) {
  const int m = static_cast<int>(rows.cols()), n = static_cast<int>(rows.rows());
  const int least = std::min(m, n);
  RowSpace result{.values = Vector(least), .directions = Matrix(least, m)};
  if (least == 0) return result;
  Matrix right(n, least);
  std::vector<int> integers(static_cast<std::size_t>(8 * least));
  double size = 0;
  int info = 0, length = -1;
  const auto run = [&](double* work) {
    dgesdd_("S", &m, &n, rows.data(), &m, result.values.data(), result.directions.data(),
            &m, right.data(), &least, work, &length, integers.data(), &info);
  };
  run(&size);
  length = static_cast<int>(size);
  std::vector<double> work(static_cast<std::size_t>(length));
  run(work.data());
  require_done(info, "the singular value decomposition");
  return result;
}

SymmetricEigen symmetric_eigen(Matrix S) {
  const int n = static_cast<int>(S.rows());
  SymmetricEigen result{.values = Vector(n), .vectors = {}};
  if (n == 0) return result;
  double size = 0;
  int info = 0, length = -1, integers_length = -1, integers_size = 0;
  dsyevd_("V", "L", &n, S.data(), &n, result.values.data(), &size, &length, &integers_size,
          &integers_length, &info);
  length = static_cast<int>(size), integers_length = integers_size;
  std::vector<double> work(static_cast<std::size_t>(length));
  std::vector<int> integers(static_cast<std::size_t>(integers_length));
  dsyevd_("V", "L", &n, S.data(), &n, result.values.data(), work.data(), &length,
          integers.data(), &integers_length, &info);
  require_done(info, "the eigendecomposition");
  result.vectors = S.transpose();
  return result;
}

CholeskyFactor::CholeskyFactor(Matrix S) : L_(std::move(S)) {
  ok_ = L_.allFinite() && factor_in_place(L_);
}

Vector CholeskyFactor::solve(const Vector& b) const {
  return solve_rows(b.transpose()).row(0).transpose();
}

Matrix CholeskyFactor::solve_rows(Matrix B) const {
  const int n = static_cast<int>(L_.rows()), count = static_cast<int>(B.rows());
  int info = 0;
  if (n > 0 && count > 0) dpotrs_("U", &n, &count, L_.data(), &n, B.data(), &n, &info);
  return B;
}

Matrix CholeskyFactor::whiten_rows(Matrix B) const {
  const int n = static_cast<int>(L_.rows()), count = static_cast<int>(B.rows());
  const double one = 1;
  if (n > 0 && count > 0)
    dtrsm_("L", "U", "T", "N", &n, &count, &one, L_.data(), &n, B.data(), &n);
  return B;
}

}  // namespace fmd::internal
