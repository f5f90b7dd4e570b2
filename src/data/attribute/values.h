#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "fmd/data/attribute.h"

namespace fmd::internal {

// The text between the cells in the name of a value of several columns.
inline constexpr std::string_view kJoint = " / ";

// The cells' texts joined: the name of a value.
[[nodiscard]] std::string join_cells(const std::vector<Cell>& cells);

// The values that the spec names, written as the columns of this table have them. Without
// counts. Throws Error(bad_task).
[[nodiscard]] Attribute named_values(const AttributeSpec& spec, const Table& table);

}  // namespace fmd::internal
