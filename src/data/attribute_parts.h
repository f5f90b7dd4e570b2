#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fmd/data/attribute.h"

namespace fmd {

inline constexpr std::string_view kJoint = " / ";

// The cells' texts joined: the name of a value.
[[nodiscard]] std::string join_cells(const std::vector<Cell>& cells);

// The values that the spec names, as its columns in this table would have them, without
// counts. Throws Error(bad_task).
[[nodiscard]] Attribute named_values(const AttributeSpec& spec, const Table& table);

// Where `ranges` ranges with equal shares begin: numbers that stand among the given ones,
// each with something below it. Fewer where equal numbers do not allow more.
[[nodiscard]] std::vector<double> quantile_cuts(std::vector<double> numbers, Index ranges);

// "under 25", "25 to 45", "45 and over".
[[nodiscard]] std::vector<std::string> range_names(const std::vector<double>& cuts);

}  // namespace fmd
