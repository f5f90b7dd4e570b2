#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Equal rows within a table and between two tables, by the fingerprints of row_hashes().
// Lists of fingerprints are sorted.

// Rows that equal another row of their table. Different persons can have equal rows: the
// share tells how many.
struct Twins {
  Index rows = 0;
  Index twins = 0;        // rows that equal another one
  Index distinct = 0;     // different rows
  Index most_copies = 0;  // of one row; 1 = all rows differ

  [[nodiscard]] double share() const;  // twins / rows; 0 without rows
};
[[nodiscard]] Twins count_twins(std::span<const std::uint64_t> sorted);

// Rows of one table that equal a row of another one.
struct RowOverlap {
  Index rows = 0;          // of the table
  Index other_rows = 0;    // of the other table
  Index shared = 0;        // rows that equal a row of the other table
  double by_chance = 0;    // the number to expect when the two have no person in common
  Index other_shared = 0;  // rows of the other table that equal a row of this one
  double other_by_chance = 0;
  bool same_set = false;  // the same rows in any order, as often in both

  // The two have rows in common that chance does not explain: the shared rows of either
  // are more than four standard errors above chance, or the tables are one set.
  [[nodiscard]] bool beyond_chance() const;
};

// By chance, a row finds a twin among others as often as these have twins among themselves.
// The share of twins in either table bounds it, so that copies of rows in one of them do
// not hide an overlap.
[[nodiscard]] RowOverlap row_overlap(std::span<const std::uint64_t> rows,
                                     std::span<const std::uint64_t> other);

// `found` of `rows` rows equal one of `other_rows` rows; by_chance were expected from the
// twins among these. The expectation has an error of its own, which is part of the bar.
[[nodiscard]] bool beyond_chance(Index found, double by_chance, Index rows,
                                 Index other_rows);

// Of row fingerprints in any order.
[[nodiscard]] std::vector<std::uint64_t> sorted_hashes(std::vector<std::uint64_t> hashes);

}  // namespace fmd
