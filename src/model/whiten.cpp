#include "fmd/model/whiten.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/index.h"
#include "core/lapack.h"
#include "core/sums.h"
#include "model/dense_rows.h"

namespace fmd {
namespace {

constexpr Index kMostFeatures = 4096;

std::vector<Index> block_rows(Index b, Index rows) {
  const Index first = b * kBlockRows;
  std::vector<Index> list(at(std::min(kBlockRows, rows - first)));
  std::iota(list.begin(), list.end(), first);
  return list;
}

// What of each row counts, in place of the mean of its group.
struct Centred {
  const Features& X;
  std::span<const std::int32_t> group;
  Matrix mean;  // groups x features
  Index counted = 0, groups = 0;

  // The block's rows minus their group's mean, divided by scale; others are zeros.
  [[nodiscard]] Matrix block(Index b, const std::vector<Index>& keep,
                             const Vector& scale) const {
    Scratch scratch;
    std::vector<float> x;
    const std::vector<Index> rows = block_rows(b, X.rows());
    expand(X, rows, scratch, x);
    Matrix out = Matrix::Zero(std::ssize(rows), std::ssize(keep));
    for (Index i = 0; i < out.rows(); ++i) {
      const std::int32_t g = group[at(rows[at(i)])];
      if (g < 0) continue;
      for (Index j = 0; j < out.cols(); ++j)
        out(i, j) = (static_cast<double>(x[at(i * X.cols() + keep[at(j)])]) -
                     mean(g, keep[at(j)])) /
                    scale[j];
    }
    return out;
  }
};

Matrix group_means(const Features& X, std::span<const std::int32_t> group, Index groups,
                   const Exec& exec, Vector& count) {
  const Index d = X.cols();
  const Vector sums =
      reduce<Sums>(
          block_count(X.rows()), [&] { return Sums{Vector::Zero(groups * (d + 1))}; },
          [&](Sums& s, Index b) {
            Scratch scratch;
            std::vector<float> x;
            const std::vector<Index> rows = block_rows(b, X.rows());
            expand(X, rows, scratch, x);
            for (std::size_t i = 0; i < rows.size(); ++i) {
              const std::int32_t g = group[at(rows[i])];
              if (g < 0) continue;
              double* to = s.values.data() + g * (d + 1);
              for (Index j = 0; j < d; ++j) to[j] += x[i * at(d) + at(j)];
              to[d] += 1;
            }
          },
          exec)
          .values;
  Matrix mean = Matrix::Zero(groups, d);
  count = Vector::Zero(groups);
  for (Index g = 0; g < groups; ++g) {
    count[g] = sums[g * (d + 1) + d];
    if (count[g] == 0) continue;
    for (Index j = 0; j < d; ++j) mean(g, j) = sums[g * (d + 1) + j] / count[g];
  }
  return mean;
}

// Sums of squares around the groups' means, as variances.
Vector variances(const Centred& centred, const Exec& exec) {
  const Index d = centred.X.cols();
  std::vector<Index> all(at(d));
  std::iota(all.begin(), all.end(), Index{0});
  const Vector ones = Vector::Ones(d);
  return reduce<Sums>(
             block_count(centred.X.rows()), [&] { return Sums{Vector::Zero(d)}; },
             [&](Sums& s, Index b) {
               s.values += centred.block(b, all, ones).colwise().squaredNorm().transpose();
             },
             exec)
             .values /
         static_cast<double>(std::max<Index>(1, centred.counted - centred.groups));
}

Matrix correlations(const Centred& centred, const std::vector<Index>& keep,
                    const Vector& scale, const Exec& exec) {
  const Index d = std::ssize(keep);
  const Vector sums =
      reduce<Sums>(
          block_count(centred.X.rows()), [&] { return Sums{Vector::Zero(d * d)}; },
          [&](Sums& s, Index b) {
            const Matrix x = centred.block(b, keep, scale);
            const int n = static_cast<int>(d), k = static_cast<int>(x.rows());
            const double one = 1;
            // Row-major: its transpose to BLAS, whose lower triangle is
            // our upper one.
            dsyrk_("L", "N", &n, &k, &one, x.data(), &n, &one, s.values.data(), &n);
          },
          exec)
          .values;
  Matrix R(d, d);
  const double n =
      static_cast<double>(std::max<Index>(1, centred.counted - centred.groups));
  for (Index i = 0; i < d; ++i)
    for (Index j = i; j < d; ++j) R(i, j) = R(j, i) = sums[i * d + j] / n;
  return R;
}

// The Cholesky factor of R + ridge; false where that is singular.
bool factor(const Matrix& R, double ridge, Matrix& L) {
  L = R;
  L.diagonal().array() += ridge;
  const int n = static_cast<int>(R.rows());
  const double norm = L.cwiseAbs().colwise().sum().maxCoeff();
  int info = 0;
  dpotrf_("L", &n, L.data(), &n, &info);
  if (info != 0) return false;
  double rcond = 0;
  std::vector<double> work(at(3 * R.rows()));
  std::vector<int> iwork(at(R.rows()));
  dpocon_("L", &n, L.data(), &n, &norm, &rcond, work.data(), iwork.data(), &info);
  return rcond > 1e-10;
}

// The features in the coordinates of the factor L.
std::vector<float> transform(const Centred& centred, const std::vector<Index>& keep,
                             const Vector& scale, const Vector& middle, const Matrix& L,
                             const Exec& exec) {
  const Features& X = centred.X;
  const Index d = std::ssize(keep);
  std::vector<float> values(at(X.rows() * d));
  exec.for_each(block_count(X.rows()), [&](Index b) {
    Scratch scratch;
    std::vector<float> x;
    const std::vector<Index> rows = block_rows(b, X.rows());
    expand(X, rows, scratch, x);
    Matrix z(std::ssize(rows), d);
    for (Index i = 0; i < z.rows(); ++i)
      for (Index j = 0; j < d; ++j) {
        const Index from = keep[at(j)];
        z(i, j) =
            (static_cast<double>(x[at(i * X.cols() + from)]) - middle[from]) / scale[j];
      }
    const int n = static_cast<int>(d), m = static_cast<int>(z.rows());
    const double one = 1;
    // To BLAS the block is z^T, and the lower triangle is L.
    dtrsm_("L", "L", "N", "N", &n, &m, &one, L.data(), &n, z.data(), &n);
    std::transform(z.data(), z.data() + z.size(), values.begin() + rows[0] * d,
                   [](double value) { return static_cast<float>(value); });
  });
  return values;
}

// trace of (R + ridge)^-1 R
double rank_of(const Matrix& R, const Matrix& L) {
  Matrix inverse = Matrix::Identity(R.rows(), R.rows());
  const int n = static_cast<int>(R.rows());
  int info = 0;
  dpotrs_("L", &n, &n, L.data(), &n, inverse.data(), &n, &info);
  return (inverse.array() * R.array()).sum();
}

void check(const Features& X, std::span<const std::int32_t> group) {
  require_size("whiten", "group", std::ssize(group), X.rows());
  if (X.cols() <= kMostFeatures) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("Mahalanobis distances of {} features: at most {} are possible",
                          X.cols(), kMostFeatures),
              "match by cosine, or by overlap of some columns");
}

// Features that vary within groups.
std::vector<Index> varying(const Vector& variance) {
  std::vector<Index> keep;
  for (Index j = 0; j < variance.size(); ++j)
    if (variance[j] > 1e-12) keep.push_back(j);
  if (!keep.empty() && variance.allFinite()) return keep;
  throw Error(ErrorKind::bad_data,
              keep.empty() ? "match: no feature varies within the groups"
                           : "match: a feature is not finite",
              "match by overlap of some columns");
}

}  // namespace

Whitened whiten(const Features& X, std::span<const std::int32_t> group, const Exec& exec) {
  check(X, group);
  const Index groups =
      group.empty() ? 0 : 1 + *std::max_element(group.begin(), group.end());
  Vector count;
  Centred centred{X, group, group_means(X, group, groups, exec, count), 0, 0};
  centred.counted = static_cast<Index>(count.sum());
  centred.groups = (count.array() > 0).count();
  const Vector variance = variances(centred, exec);
  const std::vector<Index> keep = varying(variance);
  Vector scale(std::ssize(keep));
  for (Index j = 0; j < scale.size(); ++j) scale[j] = std::sqrt(variance[keep[at(j)]]);
  const Matrix R = correlations(centred, keep, scale, exec);
  Whitened result;
  Matrix L;
  while (!factor(R, result.ridge, L)) result.ridge = std::max(1e-6, 10 * result.ridge);
  // Around the mean of all groups: smaller numbers, the same differences.
  const Vector middle = centred.mean.transpose() * count / count.sum();
  result.spread = rank_of(R, L);
  result.X = make_dense(transform(centred, keep, scale, middle, L, exec), X.rows(),
                        std::ssize(keep));
  return result;
}

}  // namespace fmd
