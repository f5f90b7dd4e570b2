#include "fmd/curvature/generalised_eigen.h"

#include <vector>

#include "core/check.h"
#include "core/lapack.h"

namespace fmd {

GeneralisedEigen generalised_eigen(const Matrix& A, const Matrix& B) {
  require_size("eigen", "A", A.cols(), A.rows());
  require_size("eigen", "B", B.rows(), A.rows());
  require_size("eigen", "B", B.cols(), A.rows());
  if (!A.allFinite() || !B.allFinite())
    throw Error(ErrorKind::numerical, "eigen: a matrix has entries that are not finite");
  GeneralisedEigen result;
  result.values.resize(A.rows());
  if (A.rows() == 0) return result;

  const int n = static_cast<int>(A.rows()), type = 1;
  Eigen::MatrixXd vectors = A, factor = B;
  int info = 0, query = -1, integer_size = 0;
  double size = 0;
  dsygvd_(&type, "V", "L", &n, vectors.data(), &n, factor.data(), &n, result.values.data(),
          &size, &query, &integer_size, &query, &info);
  const int work_size = static_cast<int>(size);
  std::vector<double> work(static_cast<std::size_t>(work_size));
  std::vector<int> integers(static_cast<std::size_t>(integer_size));
  dsygvd_(&type, "V", "L", &n, vectors.data(), &n, factor.data(), &n, result.values.data(),
          work.data(), &work_size, integers.data(), &integer_size, &info);
  if (info > n) {
    throw Error(ErrorKind::numerical,
                fmt::format("eigen: B is not positive definite (row {})", info - n),
                "add damping to the curvature");
  }
  if (info != 0)
    throw Error(ErrorKind::numerical, fmt::format("eigen: no convergence (code {})", info));
  result.vectors = vectors;
  return result;
}

}  // namespace fmd
