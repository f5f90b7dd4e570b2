#include "metrics/statistics/normal_sums.h"

#include <cmath>

#include "core/sums.h"

namespace fmd::internal {
namespace {

constexpr double kNormalRatio = 0.02;  // Berry-Esseen: the error is at most .56 times this

// L with L L^T = the covariance (lower triangle). A column that others determine gives a
// column of zeros.
Matrix lower_root(const Matrix& covariance) {
  const Index q = covariance.rows();
  Matrix L = Matrix::Zero(q, q);
  for (Index j = 0; j < q; ++j) {
    const double pivot = covariance(j, j) - L.row(j).head(j).squaredNorm();
    if (pivot <= 1e-14 * covariance(j, j)) continue;
    L(j, j) = std::sqrt(pivot);
    for (Index i = j + 1; i < q; ++i)
      L(i, j) = (covariance(i, j) - L.row(i).head(j).dot(L.row(j).head(j))) / L(j, j);
  }
  return L;
}

}  // namespace

Moments moments(const Matrix& statistics, const Exec& exec) {
  const Index n = statistics.rows(), q = statistics.cols();
  const double rows = static_cast<double>(n);
  Moments m;
  m.mean =
      sum_rows(
          n, q, [&](Vector& s, Index i) { s += statistics.row(i).transpose(); }, exec) /
      rows;
  const Vector central = sum_rows(
      n, q * q + q,
      [&](Vector& s, Index i) {
        const Vector x = statistics.row(i).transpose() - m.mean;
        for (Index j = 0; j < q; ++j) {
          s.segment(j * q, j + 1) += x(j) * x.head(j + 1);
          s(q * q + j) += std::abs(x(j) * x(j) * x(j));
        }
      },
      exec);
  m.covariance = Eigen::Map<const Matrix>(central.data(), q, q) / rows;
  m.third = central.tail(q);
  return m;
}

bool nearly_normal(const Moments& part, Index of, const Moments& all, Index n) {
  for (Index j = 0; j < part.third.size(); ++j) {
    const double spread = std::sqrt(static_cast<double>(n) * all.covariance(j, j));
    // What rounding leaves of a column of equal values.
    const double least = 1e-12 * static_cast<double>(of) * std::abs(all.mean(j));
    if (part.third(j) > kNormalRatio * spread * spread * spread &&
        std::cbrt(part.third(j)) > least)
      return false;
  }
  return true;
}

bool nearly_normal(const Moments& m, Index n) { return nearly_normal(m, n, m, n); }

NormalSums::NormalSums(const Moments* m) {
  if (m == nullptr) return;
  mean_ = m->mean;
  root_ = lower_root(m->covariance);
}

Vector NormalSums::draw(Index draws, Rng& rng) const {
  Vector g(mean_.size());
  for (double& x : g) x = rng.normal();
  const double times = static_cast<double>(draws);
  return times * mean_ + std::sqrt(times) * (root_ * g);
}

Matrix normal_sums(const Moments& m, Index n, Index replicates, const Exec& exec) {
  const NormalSums normal(&m);
  Matrix sums(replicates, m.mean.size());
  for (Index r = 0; r < replicates; ++r) {
    Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(r));
    sums.row(r) = normal.draw(n, rng).transpose();
  }
  return sums;
}

}  // namespace fmd::internal
