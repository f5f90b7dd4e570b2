#include "fmd/model/model.h"

#include "core/check.h"
#include "fmd/model/tree_backbone.h"

namespace fmd {

std::vector<std::string> Model::hashed_columns() const {
  std::vector<std::string> names = backbone->inputs().names();
  if (!task.label.empty()) names.push_back(task.label);
  return names;
}

std::string kind_of(const Model& model) {
  if (!model.head->linear()) return "mlp";
  if (trees_of(*model.backbone) != nullptr) return "trees";
  return model.head->outputs() == 1 ? "logistic" : "softmax";
}

const LinearHead& linear_head(const Model& model) {
  if (const LinearHead* head = model.head->as_linear()) return *head;
  throw Error(ErrorKind::unsupported,
              fmt::format("the head has {} layers; this works on the last layer alone",
                          model.head->widths().size() - 1),
              "keep the layers below as they are: --layers 1");
}

void set_task(Model& model, Task task, const InputFiles& files) {
  if (auto bound = model.backbone->with_inputs(task.inputs, files))
    model.backbone = std::move(bound);
  model.task = std::move(task);
}

Model with_theta(const Model& model, Vector theta) {
  require_size("model", "theta", theta.size(), model.head->parameters());
  Model changed = model;
  changed.theta = std::move(theta);
  return changed;
}

}  // namespace fmd
