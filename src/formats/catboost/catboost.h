#pragma once

#include "core/internal.h"
#include "fmd/formats/model_file.h"

namespace fmd::internal {

// CatBoost's files, binary (.cbm) and JSON: symmetric and other trees on numbers,
// categories and statistics of categories. A patch changes the values of leaves and nothing
// else. Throws Error(bad_model), and Error(unsupported) that says why a model cannot be
// read exactly.
[[nodiscard]] ModelFormat catboost_format();

}  // namespace fmd::internal
