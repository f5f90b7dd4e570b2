#pragma once

#include "fmd/formats/model_file.h"

namespace fmd {

// Which rounds of a boosted model with early stopping are the model. XGBoost's libraries
// differ: Booster.predict takes all rounds of a file, XGBClassifier those up to the best.
enum class TreeRounds {
  as_library,  // as the class that saved the file
  all,
  best,  // up to best_iteration
};

// The formats, with this choice for XGBoost's files. With `all` or `best`, opening a file
// of another format throws Error(bad_option), and so does `best` for a file without
// best_iteration.
[[nodiscard]] ModelFormats with_tree_rounds(ModelFormats formats, TreeRounds rounds);

}  // namespace fmd
