#pragma once

#include <memory>
#include <span>

#include "core/internal.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/tree_rounds.h"

namespace fmd::internal {

// XGBoost's model files, JSON and UBJSON: gbtree, dart and gblinear; binary:logistic,
// binary:logitraw, reg:logistic, multi:softprob, multi:softmax. A patch changes the bytes
// of leaf values (split_conditions of leaves) and no others. as_library: where the file
// was saved by XGBoost's scikit-learn classes and has a best_iteration, the rounds up to it
// are the model, as there; otherwise all are.
[[nodiscard]] ModelFormat xgboost_format(TreeRounds rounds = TreeRounds::as_library);

}  // namespace fmd::internal
