#pragma once

#include <span>
#include <string>
#include <vector>

#include "fmd/data/attribute.h"
#include "fmd/data/table.h"

namespace fmd {

// What stands against what: pair i is row[i] of the table and the same row with the
// attribute's columns set to value to[i]. Pairs of one row are adjacent and rows ascend.
struct PairPlan {
  std::string attribute;
  std::vector<Index> row;          // also the unit for splits and bootstrap
  std::vector<std::int32_t> from;  // the row's own value
  std::vector<std::int32_t> to;
  std::vector<float> weight;  // 1 / (pairs of that row): every row counts once

  [[nodiscard]] Index size() const { return static_cast<Index>(row.size()); }
};

// Every row whose attribute is known, against each other value of the attribute: V - 1
// pairs a row. `rows` restricts to some rows (empty = all). Throws Error(bad_task) for
// ranges of a number, which have no one value to flip to.
[[nodiscard]] PairPlan flip_plan(const Attribute& attribute,
                                 std::span<const Index> rows = {});

// The table with the plan carried out: one row per pair, for scoring by another program.
// Adds the columns fmd_row (row[i] + 1: the first row of the table is 1), fmd_from, fmd_to
// (the attribute's values as text) in front. Throws Error(bad_data) when the table has them
// already.
[[nodiscard]] Table flipped_table(const Table& table, const Attribute& attribute,
                                  const PairPlan& plan);

// Pairs from two tables joined by an id column: row[i] of `table` against row other[i] of
// `given`. One file of counterparts may serve several tables: what it has beyond this one
// is passed over. Throws Error(missing_column), Error(bad_data) on an id that stands twice
// or a row without a counterpart.
struct GivenPairs {
  std::vector<Index> row, other;
};
[[nodiscard]] GivenPairs join_pairs(const Table& table, const Table& given,
                                    const std::string& id);

}  // namespace fmd
