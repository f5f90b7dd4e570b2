#pragma once

#include <filesystem>
#include <string>

#include "fmd/core/exec.h"
#include "fmd/data/task.h"
#include "fmd/model/model.h"

namespace fmd {

// The task of a model whose file stores none, such as one of XGBoost or LightGBM. Classes
// that neither task.toml nor flags name are the labels in DATA (a table, a file of features
// or "data:NAME"): two with `positive` last, more in ascending order, as these libraries
// number them. Without a label column they are "no" and `positive`, or the numbers from 0.
// The favourable class of two is the positive one unless it is named. A task that has its
// classes, and one of a model that stores its own, stays as it is. Throws
// Error(missing_column), Error(bad_data), and Error(bad_task) for another number of classes
// than the model has.
[[nodiscard]] Task complete_task(const Model& model, Task task, const std::string& positive,
                                 const std::string& data,
                                 const std::filesystem::path& data_folder,
                                 const Exec& exec);

}  // namespace fmd
