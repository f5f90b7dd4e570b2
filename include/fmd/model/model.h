#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/task.h"
#include "fmd/model/backbone.h"
#include "fmd/model/linear_head.h"

namespace fmd {

// What is known about a model's training.
struct TrainingNote {
  Index rows = 0;
  double l2 = 0;
  double relative_gradient = 0;  // |grad F| / |grad F(0)| where training stopped
  std::string data;              // file name
  std::string data_sha256;
  std::uint64_t seed = 0;
  // Of the inputs and the label; sorted. They are in MODEL.rows, and in model files of
  // earlier versions. Empty: not known.
  std::vector<std::uint64_t> row_hashes = {};
  std::string rows_sha256 = {};  // of MODEL.rows; empty: the model has none
};

// A trained model. theta is a value: a repaired model is a new Model.
struct Model {
  Task task;
  std::shared_ptr<const Backbone> backbone;  // shared by the versions of one model
  std::shared_ptr<const Head> head;
  Vector theta;
  TrainingNote note;

  [[nodiscard]] std::vector<std::string> hashed_columns() const;  // inputs and label
};

// "logistic", "softmax", "mlp" for a head with hidden layers, or "trees".
[[nodiscard]] std::string kind_of(const Model& model);

// The head of a model for work that only a linear head can do. Throws Error(unsupported)
// for other heads.
[[nodiscard]] const LinearHead& linear_head(const Model& model);

// Gives the model a task, and makes its inputs as the task's [[inputs]] say. Throws what
// Backbone::with_inputs throws.
void set_task(Model& model, Task task, const InputFiles& files = {});

// The same model with other parameters. Throws Error(bad_shape).
[[nodiscard]] Model with_theta(const Model& model, Vector theta);

}  // namespace fmd
