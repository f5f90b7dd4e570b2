#include "fmd/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/lapack.h"
#include "core/multinomial.h"
#include "fmd/core/rng.h"
#include "metrics/statistics/normal_sums.h"
#include "metrics/statistics/strata.h"

namespace fmd {
namespace {

constexpr Index kReplicateBatch =
    16;                         // replicates that are multiplied with the rows together
constexpr Index kChunk = 2048;  // rows of one product: both factors stay in the cache
constexpr Index kPlainRows = 200'000;  // up to here every replicate is drawn row by row

using DrawCounts = std::vector<std::uint16_t>;

// How often each of n rows is drawn in n draws. Each random number gives two draws of 32
// bits, by multiplication. The few values that would favour some rows are refused.
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

// -1, 0 or 1, by value; NaN is the largest.
int compared(double x, double y) {
  if (x < y) return -1;
  if (y < x) return 1;
  return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
}

// Rows in the order of their values, so that the replicates do not depend on the order of
// the input. A value that differs in its last bit keeps its place among the others, so the
// same rows are drawn.
Matrix by_value(const Matrix& statistics) {
  std::vector<Index> order(static_cast<std::size_t>(statistics.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    for (Index j = 0; j < statistics.cols(); ++j)
      if (const int c = compared(statistics(a, j), statistics(b, j)); c != 0) return c < 0;
    return false;
  });
  Matrix sorted(statistics.rows(), statistics.cols());
  for (Index i = 0; i < sorted.rows(); ++i)
    sorted.row(i) = statistics.row(order[static_cast<std::size_t>(i)]);
  return sorted;
}

// sums (replicates of one batch x q) = counts x statistics, chunk after chunk.
void multiply_counts(const DrawCounts& counts, const Matrix& statistics,
                     Eigen::Ref<Matrix> sums) {
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
  const Matrix rows = by_value(statistics);
  const Index n = rows.rows();
  Matrix sums = Matrix::Zero(replicates, rows.cols());
  exec.for_each((replicates + kReplicateBatch - 1) / kReplicateBatch, [&](Index batch) {
    const Index first = batch * kReplicateBatch,
                size = std::min(kReplicateBatch, replicates - first);
    DrawCounts counts(static_cast<std::size_t>(size * n));
    for (Index r = 0; r < size; ++r) {
      Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(first + r));
      count_draws(rng, static_cast<std::uint32_t>(n), counts.data() + r * n);
    }
    multiply_counts(counts, rows, sums.middleRows(first, size));
  });
  return sums;
}

}  // namespace

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
        "count equal rows and use bootstrap_counts");
  }
  return plain_sums(statistics, replicates, exec);
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

std::vector<std::vector<Index>> bootstrap_counts(const std::vector<Index>& counts,
                                                 const std::vector<int>& stratum,
                                                 Index replicates, const Exec& exec) {
  require_option(replicates >= 0, "bootstrap", "replicates", replicates, ">= 0");
  require_strata(counts, stratum);
  std::vector<std::vector<Index>> tables(static_cast<std::size_t>(replicates),
                                         std::vector<Index>(counts.size(), 0));
  const auto strata = cells_by_stratum(counts, stratum);
  exec.for_each(replicates, [&](Index r) {
    Rng rng(exec.seed, "bootstrap strata", static_cast<std::uint64_t>(r));
    std::vector<double> share;
    std::vector<Index> drawn;
    for (const auto& [name, cells] : strata) {
      Index rows = 0;
      for (const std::size_t c : cells) rows += counts[c];
      if (rows == 0) continue;
      share.clear();
      for (const std::size_t c : cells)
        share.push_back(static_cast<double>(counts[c]) / static_cast<double>(rows));
      drawn.assign(cells.size(), 0);
      rng.multinomial(rows, share, drawn);
      for (std::size_t k = 0; k < cells.size(); ++k)
        tables[static_cast<std::size_t>(r)][cells[k]] = drawn[k];
    }
  });
  return tables;
}

}  // namespace fmd
