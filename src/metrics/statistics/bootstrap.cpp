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
    16;                             // replicates that are multiplied with the rows together
constexpr Index kChunk = 2048;      // rows of one product: both factors stay in the cache
constexpr Index kPlainRows = 4096;  // up to here every replicate is drawn row by row
constexpr Index kSortedRows = 200'000;  // up to here the order of rows changes no bit

using DrawCounts = std::vector<std::uint16_t>;

// How often each of n rows is drawn. Each random number gives two draws of 32 bits, by
// multiplication. The few values that would favour some rows are refused.
void count_draws(Rng& rng, std::uint32_t n, Index draws, std::uint16_t* counts) {
  const std::uint32_t unfair = (0u - n) % n;
  const auto draw = [&](std::uint32_t bits) -> Index {
    const std::uint64_t product = static_cast<std::uint64_t>(bits) * n;
    if (static_cast<std::uint32_t>(product) < unfair) return 0;
    ++counts[product >> 32];
    return 1;
  };
  Index drawn = 0;
  while (drawn + 1 < draws) {
    const std::uint64_t both = rng.next();
    drawn += draw(static_cast<std::uint32_t>(both >> 32));
    drawn += draw(static_cast<std::uint32_t>(both));
  }
  while (drawn < draws) drawn += draw(static_cast<std::uint32_t>(rng.next() >> 32));
}

// -1, 0 or 1, by value; NaN is the largest.
int compared(double x, double y) {
  if (x < y) return -1;
  if (y < x) return 1;
  return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
}

// What rows are sorted by first, beside their number: sorting then reads one list.
struct KeyedRow {
  double key;
  Index row;
};

template <typename Keys>
std::vector<KeyedRow> with_keys(const Keys& keys) {
  std::vector<KeyedRow> order(static_cast<std::size_t>(keys.size()));
  for (Index i = 0; i < keys.size(); ++i) order[static_cast<std::size_t>(i)] = {keys[i], i};
  return order;
}

Matrix rows_in(const std::vector<KeyedRow>& order, const Matrix& rows) {
  Matrix sorted(rows.rows(), rows.cols());
  for (Index i = 0; i < sorted.rows(); ++i)
    sorted.row(i) = rows.row(order[static_cast<std::size_t>(i)].row);
  return sorted;
}

// Rows in the order of their values, so that the replicates do not depend on the order of
// the input. A value that differs in its last bit keeps its place among the others, so the
// same rows are drawn.
Matrix by_value(const Matrix& statistics) {
  if (statistics.cols() == 0) return statistics;
  std::vector<KeyedRow> order = with_keys(statistics.col(0));
  std::sort(order.begin(), order.end(), [&](const KeyedRow& a, const KeyedRow& b) {
    if (const int c = compared(a.key, b.key); c != 0) return c < 0;
    for (Index j = 1; j < statistics.cols(); ++j)
      if (const int c = compared(statistics(a.row, j), statistics(b.row, j)); c != 0)
        return c < 0;
    return false;
  });
  return rows_in(order, statistics);
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

// Sums of resampled rows, where the first `one_by_one` of n rows are drawn row by row and
// `rest` has the moments of the others. How many draws go to the first is binomial.
Matrix drawn_sums(const Matrix& rows, Index one_by_one, const Moments* rest,
                  Index replicates, const Exec& exec) {
  const Index n = rows.rows();
  const double share = static_cast<double>(one_by_one) / static_cast<double>(n);
  const NormalSums normal(rest);
  const Matrix first_rows = rows.topRows(one_by_one);
  Matrix sums = Matrix::Zero(replicates, rows.cols());
  exec.for_each((replicates + kReplicateBatch - 1) / kReplicateBatch, [&](Index batch) {
    const Index first = batch * kReplicateBatch,
                size = std::min(kReplicateBatch, replicates - first);
    DrawCounts counts(static_cast<std::size_t>(size * one_by_one));
    for (Index r = 0; r < size; ++r) {
      Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(first + r));
      const Index draws = rest == nullptr ? n : rng.binomial(n, share);
      if (one_by_one > 0)
        count_draws(rng, static_cast<std::uint32_t>(one_by_one), draws,
                    counts.data() + r * one_by_one);
      if (rest != nullptr) sums.row(first + r) = normal.draw(n - draws, rng).transpose();
    }
    multiply_counts(counts, first_rows, sums.middleRows(first, size));
  });
  return sums;
}

// How far each row is from the mean in its farthest column, in standard deviations.
Vector distances(const Matrix& rows, const Moments& m) {
  Vector far = Vector::Zero(rows.rows());
  for (Index j = 0; j < rows.cols(); ++j) {
    if (m.covariance(j, j) <= 0) continue;
    const double scale = 1 / std::sqrt(m.covariance(j, j));
    for (Index i = 0; i < rows.rows(); ++i) {
      double& own = far[i];
      own = std::max(own, std::abs(rows(i, j) - m.mean(j)) * scale);
    }
  }
  return far;
}

// The rows with the farthest first. Rows that are equally far keep their order.
Matrix farthest_first(const Matrix& rows, const Moments& m) {
  std::vector<KeyedRow> order = with_keys(distances(rows, m));
  std::sort(order.begin(), order.end(), [](const KeyedRow& a, const KeyedRow& b) {
    return a.key != b.key ? a.key > b.key : a.row < b.row;
  });
  return rows_in(order, rows);
}

// Draws the far rows one by one, as many as it takes to leave sums of the others that are
// nearly normal.
Matrix sums_of_many(const Matrix& statistics, Index replicates, const Exec& exec) {
  const Index n = statistics.rows();
  const Moments all = moments(statistics, exec);
  if (nearly_normal(all, n)) return drawn_sums(statistics, 0, &all, replicates, exec);
  const Matrix rows = farthest_first(statistics, all);
  for (Index one_by_one = kPlainRows / 8; one_by_one < n; one_by_one *= 2) {
    const Moments rest = moments(rows.bottomRows(n - one_by_one), exec);
    if (nearly_normal(rest, n - one_by_one, all, n))
      return drawn_sums(rows, one_by_one, &rest, replicates, exec);
  }
  return drawn_sums(rows, n, nullptr, replicates, exec);
}

}  // namespace

Matrix bootstrap_sums(const Matrix& statistics, Index replicates, const Exec& exec) {
  require_option(replicates >= 0, "bootstrap", "replicates", replicates, ">= 0");
  const Index n = statistics.rows();
  if (n == 0 || statistics.cols() == 0) return Matrix::Zero(replicates, statistics.cols());
  if (n > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::bad_data, fmt::format("bootstrap: {} rows, at most 2^32 - 1", n),
                "count equal rows and use bootstrap_counts");
  }
  if (n <= kPlainRows)
    return drawn_sums(by_value(statistics), n, nullptr, replicates, exec);
  if (n <= kSortedRows) return sums_of_many(by_value(statistics), replicates, exec);
  return sums_of_many(statistics, replicates, exec);
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
