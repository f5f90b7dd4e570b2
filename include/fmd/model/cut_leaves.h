#pragma once

#include <string>
#include <vector>

#include "fmd/model/model.h"

namespace fmd {

// A model of trees with only those leaves as its head that stand below a split on one of
// the columns. The other leaves are held: they become part of the features' offset. Only
// leaves below such a split can differ between a row and its flip, so a repair of the
// columns changes no others. The answers are the same. A model without trees, and one whose
// trees split on none of the columns, is returned as it is.
[[nodiscard]] Model cut_leaves(const Model& model, const std::vector<std::string>& columns);

// The whole model with the parameters of one that was cut by the same columns. Throws
// Error(bad_shape).
[[nodiscard]] Model with_leaves(const Model& whole, const std::vector<std::string>& columns,
                                const Vector& top);

}  // namespace fmd
