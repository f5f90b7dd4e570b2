#include "fmd/baselines/smoothing.h"

#include <algorithm>
#include <cmath>

#include <Eigen/QR>

#include "baselines/dense_matrix.h"
#include "core/check.h"
#include "core/lapack.h"
#include "curvature/cholesky.h"

namespace fmd {
namespace {

// Squared distances between the rows of A, by one product.
Matrix squared_distances(const Matrix& A) {
  const Vector norms = A.rowwise().squaredNorm();
  Matrix D(A.rows(), A.rows());
  const int n = static_cast<int>(A.rows()), d = static_cast<int>(A.cols());
  const double factor = -2, none = 0;
  D.setZero();
  // Column-major upper is row-major lower.
  if (d > 0) dsyrk_("U", "T", &n, &d, &factor, A.data(), &d, &none, D.data(), &n);
  D.triangularView<Eigen::StrictlyUpper>() = D.transpose();
  D.colwise() += norms;
  D.rowwise() += norms.transpose();
  return D.cwiseMax(0);
}

Matrix laplacian(const Matrix& A, const SmoothingOptions& o) {
  const Index n = A.rows();
  Matrix W = squared_distances(A);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j)
      W(i, j) = W(i, j) <= o.tau ? std::exp(-o.theta * W(i, j)) : 0;
    W(i, i) = 1;
  }
  if (!o.normalised) {
    Matrix L = -W;
    L.diagonal() += W.rowwise().sum();
    return L;
  }
  const Vector root = W.rowwise().sum().cwiseSqrt().cwiseInverse();
  W = root.asDiagonal() * W * root.asDiagonal();
  const Matrix walk = W.rowwise().sum().cwiseInverse().asDiagonal() * W;
  Matrix L = -(walk + walk.transpose()) / 2;
  L.diagonal().array() += 1;
  return L;
}

}  // namespace

FairMetric::FairMetric(Index cols, std::span<const Index> drop, const Matrix& directions)
    : cols_(cols) {
  for (Index j = 0; j < cols; ++j)
    if (std::find(drop.begin(), drop.end(), j) == drop.end()) kept_.push_back(j);
  if (directions.cols() == 0) return;
  require_size("smoothing", "directions", directions.rows(), std::ssize(kept_));
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr{Eigen::MatrixXd(directions)};
  qr.setThreshold(1e-9);
  basis_ = Eigen::MatrixXd(qr.householderQ() *
                           Eigen::MatrixXd::Identity(directions.rows(), qr.rank()));
}

Matrix FairMetric::coordinates(const Features& X, std::span<const Index> rows) const {
  require_size("smoothing", "features", X.cols(), cols_);
  const Matrix all = dense_matrix(X, rows);
  Matrix A(all.rows(), std::ssize(kept_));
  for (Index j = 0; j < A.cols(); ++j)
    A.col(j) = all.col(kept_[static_cast<std::size_t>(j)]);
  if (basis_.cols() > 0) A -= Matrix((A * basis_) * basis_.transpose());
  return A;
}

Matrix smooth(const Matrix& Z, const Matrix& A, const SmoothingOptions& options) {
  require_option(options.lambda >= 0, "smoothing", "lambda", options.lambda, ">= 0");
  require_option(options.theta >= 0, "smoothing", "theta", options.theta, ">= 0");
  require_option(options.tau >= 0, "smoothing", "tau", options.tau, ">= 0");
  require_size("smoothing", "coordinates", A.rows(), Z.rows());
  if (Z.rows() == 0) return Z;
  Matrix M = options.lambda * laplacian(A, options);
  M.diagonal().array() += 1;
  Eigen::MatrixXd f = Z;
  if (factor_in_place(M)) {
    solve_factored(M, f);
    return f;
  }
  throw Error(ErrorKind::numerical,
              fmt::format("smoothing: I + {:g} L is not positive definite", options.lambda),
              "take a smaller lambda");
}

double distance_quantile(const Matrix& A, double q) {
  require_option(q >= 0 && q <= 1, "smoothing", "quantile", q, "in [0, 1]");
  require_option(A.rows() >= 2, "smoothing", "rows", A.rows(), ">= 2");
  const Matrix D = squared_distances(A);
  std::vector<double> all;
  for (Index i = 0; i < D.rows(); ++i)
    for (Index j = 0; j < i; ++j) all.push_back(D(i, j));
  const auto place = static_cast<std::ptrdiff_t>(q * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + place, all.end());
  return all[static_cast<std::size_t>(place)];
}

}  // namespace fmd
