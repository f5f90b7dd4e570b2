#pragma once

#include <optional>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/data/table.h"
#include "fmd/fit/adam.h"
#include "fmd/fit/train.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/model.h"

namespace fmd {

struct TrainModelResult {
  Model model;
  TrainSummary summary;             // of a linear model; not_run for others
  std::optional<AdamSummary> adam;  // of a model with hidden layers
};

// A logistic regression (two classes) or softmax regression from a table. The encoder is
// fitted on these rows, the head to the optimum of F. Inputs are all columns except the
// label, id, weight and task.ignore. task.classes empty = read from the table. Rows without
// a label are an error.
[[nodiscard]] TrainModelResult train_model(const Table& table, Task task,
                                           const std::string& data_sha256,
                                           const TrainOptions& options, const Exec& exec);

struct MlpOptions {
  std::vector<Index> hidden = {100, 100};  // widths of the hidden layers, the lowest first
  Activation activation = Activation::relu;
  AdamOptions adam;
};

// The same with hidden layers, trained by Adam with early stopping.
[[nodiscard]] TrainModelResult train_mlp(const Table& table, Task task,
                                         const std::string& data_sha256,
                                         const MlpOptions& options, const Exec& exec);

enum class ModelKind { logistic, mlp };

// What `fmd train` sets.
struct TrainModelOptions {
  ModelKind kind = ModelKind::logistic;
  double l2 = -1;  // of either kind; -1 = 1/n
  MlpOptions mlp = {};
};

// Every field that is a setting. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(TrainModelOptions& options);

// Either of the two.
[[nodiscard]] TrainModelResult train(const Table& table, Task task,
                                     const std::string& data_sha256,
                                     const TrainModelOptions& options, const Exec& exec);

// Whether the model is of a kind that this library trains: an encoder of table columns
// below its head.
[[nodiscard]] bool can_train(const Model& model);

// The same kind of model trained without the given columns. Every repair should be compared
// with it. For models that can_train() allows.
[[nodiscard]] TrainModelResult train_without(const Model& model, const Table& table,
                                             const std::vector<std::string>& columns,
                                             const Exec& exec);

}  // namespace fmd
