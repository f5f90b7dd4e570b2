#include "curvature/factor.h"

#include <vector>

#include "core/lapack.h"

namespace fmd {

// Row-major lower is column-major upper.
bool factor_in_place(Matrix& A) {
  const int n = static_cast<int>(A.rows());
  int info = 0;
  dpotrf_("U", &n, A.data(), &n, &info);
  return info == 0;
}

double reciprocal_condition(const Matrix& L, double norm) {
  const int n = static_cast<int>(L.rows());
  int info = 0;
  double rcond = 0;
  std::vector<double> work(static_cast<std::size_t>(3 * n));
  std::vector<int> iwork(static_cast<std::size_t>(n));
  dpocon_("U", &n, L.data(), &n, &norm, &rcond, work.data(), iwork.data(), &info);
  return rcond;
}

void solve_factored(const Matrix& L, Eigen::MatrixXd& b) {
  const int n = static_cast<int>(L.rows()), count = static_cast<int>(b.cols());
  int info = 0;
  if (n > 0 && count > 0) dpotrs_("U", &n, &count, L.data(), &n, b.data(), &n, &info);
}

}  // namespace fmd
