#include "curvature/kronecker.h"

#include "core/gemm.h"
#include "fmd/curvature/generalised_eigen.h"

namespace fmd::internal {
namespace {

constexpr Index kMostEigen = 600;  // from there on BLAS is faster than Eigen's product

Matrix product(As as, const Matrix& A, const Matrix& B) {
  if (A.rows() <= kMostEigen)
    return as == As::is ? Matrix(A * B) : Matrix(A.transpose() * B);
  Matrix C(A.rows(), B.cols());
  gemm(as, As::is, A.rows(), B.cols(), A.cols(), {A.data(), A.cols()}, {B.data(), B.cols()},
       0, {C.data(), C.cols()});
  return C;
}

// V^T, or V, of each column.
Matrix turned(As as, const KroneckerBasis& basis, const Matrix& columns) {
  if (basis.vectors.cols() == 1) return basis.vectors.col(0).asDiagonal() * columns;
  return product(as, basis.vectors, columns);
}

}  // namespace

KroneckerBasis::KroneckerBasis(const Matrix& first, const Matrix& second) {
  if (first.cols() == 1 && first.rows() > 1) {
    vectors = first.cwiseSqrt().cwiseInverse();
    values = second.cwiseQuotient(first).col(0);
    return;
  }
  GeneralisedEigen eigen = generalised_eigen(second, first);
  vectors = std::move(eigen.vectors);
  values = eigen.values.cwiseMax(0.0);
}

void KroneckerBlock::solve(const Vector& v, double ridge, double damping,
                           Vector& into) const {
  const Index rows = outputs.vectors.rows(), cols = inputs.vectors.rows();
  const Eigen::Map<const Matrix> block(v.data() + start, rows, cols);
  Matrix inside =
      turned(As::transposed, inputs, turned(As::transposed, outputs, block).transpose());
  for (Index j = 0; j < cols; ++j)
    for (Index k = 0; k < rows; ++k) {
      const double value = inputs.values[j] * outputs.values[k] + ridge + damping;
      inside(j, k) = value > 0 ? inside(j, k) / value : 0;
    }
  Eigen::Map<Matrix>(into.data() + start, rows, cols) =
      turned(As::is, outputs, turned(As::is, inputs, inside).transpose());
}

}  // namespace fmd::internal
