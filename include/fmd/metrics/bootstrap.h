#pragma once

#include <span>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"

// Resampled sums and tables. interval.h and bca.h compute intervals from them.
namespace fmd {

// Bootstrap over units (rows). One row of the result per replicate: the sums of the q
// statistics over `units` rows that were drawn with replacement. Replicate r depends on
// (seed, r) and on the contents of the rows, not on their order. All columns of a matrix
// share the draws: before and after, or numerator and denominator, stay paired.
//
// Cost: replicates x rows x about 4 ns, on the pool, up to 4,096 rows. Above that the sums
// of most rows are drawn from the normal distribution with their exact mean and covariance,
// and the rows that are farthest from the mean one by one: how many draws they get is
// binomial. At least so many are drawn one by one (0, 512, 1,024 ..., all) that the others
// have sum |x - m|^3 <= .02 (sum (x - m)^2)^(3/2) in every column, with the squares of all
// rows: the distribution of each sum is then within .012 of the plain one (Berry and
// Esseen).
[[nodiscard]] Matrix bootstrap_sums(const Matrix& statistics, Index replicates,
                                    const Exec& exec);

// One table of counts per replicate, all in one array.
class CountTables {
 public:
  CountTables(Index tables, std::size_t cells)
      : cells_(cells),
        counts_(static_cast<std::size_t>(tables) * cells, 0),
        tables_(tables) {}

  [[nodiscard]] Index size() const { return tables_; }
  [[nodiscard]] std::span<const Index> operator[](Index table) const {
    return {counts_.data() + static_cast<std::size_t>(table) * cells_, cells_};
  }
  [[nodiscard]] std::span<Index> operator[](Index table) {
    return {counts_.data() + static_cast<std::size_t>(table) * cells_, cells_};
  }
  bool operator==(const CountTables&) const = default;

 private:
  std::size_t cells_;
  std::vector<Index> counts_;
  Index tables_;
};

// Bootstrap of counts. The replicates of a table of counts are multinomial draws of its
// total. Resampling the rows and counting them again gives the same. The cost does not
// depend on the total: about 25 ns a cell. Replicate r depends on (seed, r) alone. Throws
// Error(bad_option) for negative counts.
[[nodiscard]] CountTables bootstrap_counts(const std::vector<Index>& counts,
                                           Index replicates, const Exec& exec);

// The same within strata: rows are drawn from the cells of their own stratum, so that every
// stratum (a group) keeps its size. stratum: one number per cell, any numbers; empty: all
// cells are one stratum. Throws Error (bad_shape, bad_option).
[[nodiscard]] std::vector<std::vector<Index>> bootstrap_counts(
    const std::vector<Index>& counts, const std::vector<int>& stratum, Index replicates,
    const Exec& exec);

}  // namespace fmd
