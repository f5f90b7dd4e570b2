#pragma once

#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/core/accumulator.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Sums of a fixed number of figures over rows, for reduce().
struct Sums {
  Vector values;

  void merge(const Sums& other) { values += other.values; }
  void save(ByteWriter& out) const {
    out.put_array(
        std::span<const double>(values.data(), static_cast<std::size_t>(values.size())));
  }
  static Sums load(ByteReader& in) {
    const std::vector<double> read = in.get_array<double>();
    return {Eigen::Map<const Vector>(read.data(), static_cast<Index>(read.size()))};
  }
};

// add(sums, i) for the rows i of each block, merged on the fixed tree.
template <typename Add>
[[nodiscard]] Vector sum_rows(Index rows, Index figures, const Add& add, const Exec& exec) {
  return reduce<Sums>(
             block_count(rows), [&] { return Sums{Vector::Zero(figures)}; },
             [&](Sums& sums, Index b) {
               const Index last = std::min(rows, (b + 1) * kBlockRows);
               for (Index i = b * kBlockRows; i < last; ++i) add(sums.values, i);
             },
             exec)
      .values;
}

}  // namespace fmd::internal
