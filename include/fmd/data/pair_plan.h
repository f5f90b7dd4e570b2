#pragma once

#include <span>
#include <string>
#include <vector>

#include "fmd/data/attribute.h"
#include "fmd/data/table.h"

namespace fmd {

// Which pairs are compared. Pair i is row[i] of the table and the same row with the
// attribute's columns set to value to[i]. Pairs of one row are adjacent, and rows ascend.
struct PairPlan {
  std::string attribute;
  std::vector<Index> row;          // also the unit for splits and bootstrap
  std::vector<std::int32_t> from;  // the row's own value
  std::vector<std::int32_t> to;
  std::vector<float> weight;  // 1 / (pairs of that row): every row counts once

  [[nodiscard]] Index size() const { return static_cast<Index>(row.size()); }
};

// Pairs every row whose attribute is known with each other value of the attribute: V - 1
// pairs a row. Values that the model has not seen are left out. `rows` restricts this to
// some rows (empty = all). Throws Error(bad_task) for ranges of a number, which have no
// single value to flip to.
[[nodiscard]] PairPlan flip_plan(const Attribute& attribute,
                                 std::span<const Index> rows = {});

// The flipped rows of the plan as a table, one row per pair: row plan.row[i] with the
// attribute's columns set to value plan.to[i].
[[nodiscard]] Table flipped_rows(const Table& table, const Attribute& attribute,
                                 const PairPlan& plan);

// The same for scoring by another program. Adds columns in front: fmd_row (row[i] + 1: the
// first row of the table is 1), fmd_from and fmd_to (the attribute's values as text).
// Throws Error(bad_data) when the table already has such columns.
[[nodiscard]] Table flipped_table(const Table& table, const Attribute& attribute,
                                  const PairPlan& plan);

// Pairs from two tables joined by an id column: row[i] of `table` and row other[i] of
// `given`. One file of counterparts may serve several tables: rows of `given` that this
// table does not need are ignored. Throws Error(missing_column), and Error(bad_data) for an
// id that appears twice or a row without a counterpart.
struct GivenPairs {
  std::vector<Index> row, other;
};
[[nodiscard]] GivenPairs join_pairs(const Table& table, const Table& given,
                                    const std::string& id);

}  // namespace fmd
