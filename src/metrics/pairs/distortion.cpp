#include "fmd/metrics/distortion.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/model/whiten.h"
#include "model/dense_rows.h"

namespace fmd {
namespace {

// The rows of both sides in one matrix: those of c, then those of cbar.
std::vector<float> both_sides(const PairSet& pairs) {
  const Index n = pairs.size(), d = pairs.c.X->cols();
  std::vector<float> values(at(2 * n * d));
  float* out = values.data();
  Scratch scratch;
  std::vector<float> some;
  for (const Rows* side : {&pairs.c, &pairs.cbar}) {
    for (Index first = 0; first < n; first += kBlockRows) {
      std::vector<Index> rows;
      for (Index i = first; i < std::min(n, first + kBlockRows); ++i)
        rows.push_back(side->row(i));
      expand(*side->X, rows, scratch, some);
      out = std::copy_n(some.begin(), std::ssize(rows) * d, out);
    }
  }
  return values;
}

enum class Norm { euclidean, manhattan };

Vector distances(const Features& X, Norm norm) {
  const Index n = X.rows() / 2;
  Vector found(n);
  Scratch scratch;
  std::vector<float> a, b;
  for (Index i = 0; i < n; ++i) {
    const Index first = i, second = n + i;
    expand(X, {&first, 1}, scratch, a);
    expand(X, {&second, 1}, scratch, b);
    double sum = 0;
    for (Index j = 0; j < X.cols(); ++j) {
      const double x = static_cast<double>(a[at(j)]) - static_cast<double>(b[at(j)]);
      sum += norm == Norm::manhattan ? std::abs(x) : x * x;
    }
    found[i] = norm == Norm::manhattan ? sum : std::sqrt(sum);
  }
  return found;
}

// Means of the pairs of each unit.
Vector by_unit(const PairSet& pairs, const Vector& of_pairs) {
  std::vector<double> sum, weight;
  for (Index i = 0; i < pairs.size(); ++i) {
    if (i == 0 || pairs.unit[at(i)] != pairs.unit[at(i - 1)]) {
      sum.push_back(0);
      weight.push_back(0);
    }
    const auto w = static_cast<double>(pairs.weight[at(i)]);
    sum.back() += w * of_pairs[i];
    weight.back() += w;
  }
  Vector means(std::ssize(sum));
  for (Index u = 0; u < means.size(); ++u) means[u] = sum[at(u)] / weight[at(u)];
  return means;
}

}  // namespace

Distortion sample_distortion(const PairSet& pairs, double confidence, Index replicates,
                             const Exec& exec) {
  Distortion report;
  const Index n = pairs.size();
  if (n == 0) return report;
  const auto mean = [&](const Features& X, Norm norm) {
    return bootstrap_mean(by_unit(pairs, distances(X, norm)), confidence, replicates, exec);
  };
  const auto X = make_dense(both_sides(pairs), 2 * n, pairs.c.X->cols());
  report.euclidean = mean(*X, Norm::euclidean);
  report.manhattan = mean(*X, Norm::manhattan);
  try {
    const std::vector<std::int32_t> one_group(at(2 * n), 0);
    report.mahalanobis = mean(*whiten(*X, one_group, exec).X, Norm::euclidean);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data && error.kind() != ErrorKind::unsupported)
      throw;
    report.reason = error.what();
  }
  return report;
}

}  // namespace fmd
