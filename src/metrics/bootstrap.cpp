#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/lapack.h"
#include "core/multinomial.h"
#include "core/sums.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/interval.h"
#include "metrics/normal_sums.h"

namespace fmd {
namespace {

constexpr Index kBatch = 16;    // replicates that are multiplied with the rows together
constexpr Index kChunk = 2048;  // rows of one product: both factors stay in the cache
constexpr Index kPlainRows = 200'000;  // up to here every replicate is drawn row by row
constexpr double kNormalRatio = 0.02;  // Berry-Esseen: the error is at most .56 times this

using Counts = std::vector<std::uint16_t>;

// How often each of n rows comes up in n draws: two draws of 32 bits from each random
// number, by multiplication, with the few values refused that would favour some rows.
void count_draws(Rng& rng, std::uint32_t n, std::uint16_t* counts) {
  const std::uint32_t unfair = (0u - n) % n;
  const auto draw = [&](std::uint32_t bits) -> Index {
    const std::uint64_t product = static_cast<std::uint64_t>(bits) * n;
    if (static_cast<std::uint32_t>(product) < unfair) return 0;
    ++counts[product >> 32];
    return 1;
  };
  Index drawn = 0;
  while (drawn + 1 < static_cast<Index>(n)) {
    const std::uint64_t bits = rng.next();
    drawn += draw(static_cast<std::uint32_t>(bits >> 32));
    drawn += draw(static_cast<std::uint32_t>(bits));
  }
  while (drawn < static_cast<Index>(n))
    drawn += draw(static_cast<std::uint32_t>(rng.next() >> 32));
}

// Rows in an order that depends on their contents alone, so that the replicates do not
// depend on the order in which rows come. Any total order serves; that of the bytes needs
// no case for NaN.
Matrix in_canonical_order(const Matrix& statistics) {
  const auto bytes = static_cast<std::size_t>(statistics.cols()) * sizeof(double);
  std::vector<Index> order(static_cast<std::size_t>(statistics.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::memcmp(statistics.row(a).data(), statistics.row(b).data(), bytes) < 0;
  });
  Matrix sorted(statistics.rows(), statistics.cols());
  for (Index i = 0; i < sorted.rows(); ++i)
    sorted.row(i) = statistics.row(order[static_cast<std::size_t>(i)]);
  return sorted;
}

// sums (replicates of one batch x q) = counts x statistics, chunk after chunk.
void multiply(const Counts& counts, const Matrix& statistics, Eigen::Ref<Matrix> sums) {
  const Index n = statistics.rows(), batch = sums.rows();
  const int q = static_cast<int>(statistics.cols()), b = static_cast<int>(batch);
  const double one = 1;
  std::vector<double> weights(static_cast<std::size_t>(batch * std::min(n, kChunk)));
  for (Index first = 0; first < n; first += kChunk) {
    const Index rows = std::min(kChunk, n - first);
    for (Index r = 0; r < batch; ++r)
      std::copy_n(counts.data() + r * n + first, rows, weights.data() + r * rows);
    const int k = static_cast<int>(rows);
    dgemm_("N", "N", &q, &b, &k, &one, statistics.row(first).data(), &q, weights.data(), &k,
           &one, sums.data(), &q);
  }
}

Matrix plain_sums(const Matrix& statistics, Index replicates, const Exec& exec) {
  const Matrix rows = in_canonical_order(statistics);
  const Index n = rows.rows();
  Matrix sums = Matrix::Zero(replicates, rows.cols());
  exec.for_each((replicates + kBatch - 1) / kBatch, [&](Index batch) {
    const Index first = batch * kBatch, size = std::min(kBatch, replicates - first);
    Counts counts(static_cast<std::size_t>(size * n));
    for (Index r = 0; r < size; ++r) {
      Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(first + r));
      count_draws(rng, static_cast<std::uint32_t>(n), counts.data() + r * n);
    }
    multiply(counts, rows, sums.middleRows(first, size));
  });
  return sums;
}

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

// L with L L^T = the covariance (lower triangle); columns that others determine give a zero
// one.
Matrix root(const Matrix& covariance) {
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

bool nearly_normal(const Moments& m, Index n) {
  for (Index j = 0; j < m.third.size(); ++j) {
    const double spread = std::sqrt(static_cast<double>(n) * m.covariance(j, j));
    if (m.third(j) > kNormalRatio * spread * spread * spread) return false;
  }
  return true;
}

Matrix normal_sums(const Moments& m, Index n, Index replicates, const Exec& exec) {
  const Index q = m.mean.size();
  const double rows = static_cast<double>(n);
  const Matrix L = std::sqrt(rows) * root(m.covariance);
  Matrix sums(replicates, q);
  for (Index r = 0; r < replicates; ++r) {
    Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(r));
    Vector g(q);
    for (double& x : g) x = rng.normal();
    sums.row(r) = (rows * m.mean + L * g).transpose();
  }
  return sums;
}

Matrix bootstrap_sums(const Matrix& statistics, Index replicates, const Exec& exec) {
  require_option(replicates >= 0, "bootstrap", "replicates", replicates, ">= 0");
  const Index n = statistics.rows();
  if (n == 0 || statistics.cols() == 0) return Matrix::Zero(replicates, statistics.cols());
  if (n > kPlainRows) {
    const Moments m = moments(statistics, exec);
    if (nearly_normal(m, n)) return normal_sums(m, n, replicates, exec);
  }
  if (n > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(
        ErrorKind::bad_data,
        fmt::format("bootstrap: {} rows with rare large values, at most 2^32 - 1", n),
        "count rows of a kind and use bootstrap_counts");
  }
  return plain_sums(statistics, replicates, exec);
}

Interval bootstrap_mean(const Vector& statistic, double confidence, Index replicates,
                        const Exec& exec) {
  if (statistic.size() == 0) return {};
  const double rows = static_cast<double>(statistic.size());
  const Vector sum = sum_rows(
      statistic.size(), 1, [&](Vector& s, Index i) { s(0) += statistic(i); }, exec);
  const Matrix sums = bootstrap_sums(statistic, replicates, exec) / rows;
  return percentile(sum(0) / rows, {sums.data(), sums.data() + sums.size()}, confidence);
}

CountTables bootstrap_counts(const std::vector<Index>& counts, Index replicates,
                             const Exec& exec) {
  require_option(replicates >= 0, "bootstrap", "replicates", replicates, ">= 0");
  for (const Index count : counts)
    require_option(count >= 0, "bootstrap", "counts", count, ">= 0");
  CountTables tables(replicates, counts.size());
  const std::vector<double> share(counts.begin(), counts.end());
  const Index total = std::accumulate(counts.begin(), counts.end(), Index{0});
  if (total == 0) return tables;
  constexpr Index kTables = 256;  // of one piece of work
  exec.for_each((replicates + kTables - 1) / kTables, [&](Index piece) {
    const Index first = piece * kTables, size = std::min(kTables, replicates - first);
    draw_tables(total, share, exec.seed, "bootstrap counts", first, size,
                tables[first].data());
  });
  return tables;
}

}  // namespace fmd
