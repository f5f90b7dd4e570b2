#pragma once

#include "core/check.h"
#include "core/internal.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd::internal {

// What every kind of training needs of its rows and its start (empty = no start given).
inline void require_training(const Head& head, const Rows& rows, const Vector& start) {
  if (rows.X == nullptr || rows.size() == 0)
    throw Error(ErrorKind::bad_data, "train: there are no rows", "give at least one row");
  require_size("train", "a row of features", rows.X->cols(), head.inputs());
  require_size("train", "y", static_cast<Index>(rows.y.size()), rows.X->rows());
  if (!rows.weight.empty())
    require_size("train", "weight", static_cast<Index>(rows.weight.size()), rows.X->rows());
  if (start.size() > 0) require_size("train", "start", start.size(), head.parameters());
}

}  // namespace fmd::internal
