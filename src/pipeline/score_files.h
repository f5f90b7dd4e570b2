#pragma once

#include <string>
#include <vector>

#include "fmd/pipeline/audit.h"

// Reading rows and pairs that another program scored.
namespace fmd {

// The task's weights. Throws Error(bad_option) when it names none.
[[nodiscard]] std::vector<float> audit_weights(const Table& table, const Task& task);

// Probability columns: p_<class> for each class, or p / score of the positive one. Throws
// Error (bad_value, missing_column).
[[nodiscard]] Matrix read_probabilities(const Table& table, const Task& task);

// Which pairs of a table are one attribute's, and of which row of the scores.
struct PairList {
  std::vector<Index> at;  // rows of the table of pairs
  std::vector<Index> unit;
  std::vector<std::int32_t> from, to;
};
// rows: of the scores. Throws Error(bad_value) for a row that they do not have.
[[nodiscard]] PairList list_pairs(const Table& pairs, const Attribute& attribute,
                                  Index rows);

}  // namespace fmd
