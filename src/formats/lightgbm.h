#pragma once

#include <memory>
#include <span>

#include "core/internal.h"
#include "fmd/formats/model_file.h"

namespace fmd::internal {

// LightGBM's text files, versions 3 and 4: binary, cross_entropy, multiclass and
// multiclassova; gbdt, dart, goss and rf (average_output). A patch changes the texts of
// leaf values and the sizes of trees (tree_sizes), and no other byte.
[[nodiscard]] ModelFormat lightgbm_format();

}  // namespace fmd::internal
