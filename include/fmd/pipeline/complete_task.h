#pragma once

#include "fmd/core/exec.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/source.h"

namespace fmd {

// A model with the task that it is used for: its own with the changes, and its inputs made
// as the task says. A file of XGBoost, LightGBM or ONNX stores no task. Classes that
// neither task.toml nor flags name are then the labels in DATA (a table, a file of
// features): two with the positive one last, more in ascending order, as these libraries
// number them. Without a label column they are "no" and the positive one, or the numbers
// from 0. The favourable class of two is the positive one unless it is named. Throws what
// complete_task() and set_task() throw, Error(missing_column), Error(bad_data), and
// Error(bad_task) for another number of classes than the model has.
[[nodiscard]] Model complete_model(Model model, const DataSource& data,
                                   const TaskChanges& changes, const Exec& exec);

}  // namespace fmd
