#include "fmd/pipeline/complete_task.h"

#include <algorithm>

#include "core/check.h"
#include "fmd/formats/features_file.h"
#include "fmd/model/tree_backbone.h"
#include "pipeline/score_files.h"

namespace fmd {
namespace {

std::vector<std::string> classes_in(const DataSource& data, const Task& task,
                                    const std::string& positive, const Exec& exec) {
  if (data.is_features()) return FeaturesFile::open(data.name()).note().classes;
  return label_classes(label_values(data, csv_options(task), task.label, exec), task.label,
                       positive);
}

std::vector<std::string> classes_without_labels(Index count, const std::string& positive) {
  if (count == 2) return {"no", positive.empty() ? "yes" : positive};
  std::vector<std::string> classes;
  for (Index k = 0; k < count; ++k) classes.push_back(std::to_string(k));
  return classes;
}

// The columns of trees whose file does not name them: those of the table, in their order.
std::vector<InputSpec> columns_in_order(const Model& model, const Task& task,
                                        const DataSource& data, const Exec& exec) {
  const TreeEnsemble* trees = trees_of(*model.backbone);
  if (trees == nullptr || !trees->unnamed || data.is_features()) return {};
  const std::vector<std::string> places = model.backbone->inputs().names();
  CsvOptions options = csv_options(task);
  options.keep = places;  // hardly a column is looked at
  const std::vector<std::string> names = data.open(options, exec).names();
  const auto has = [](const std::vector<std::string>& all, const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  if (std::all_of(places.begin(), places.end(),
                  [&](const std::string& place) { return has(names, place); }))
    return {};
  InputSpec spec;
  for (const std::string& name : names)
    if (name != task.label && name != task.id && name != task.weight &&
        !has(task.ignore, name))
      spec.columns.push_back(name);
  if (spec.columns.size() != trees->columns())
    throw Error(
        ErrorKind::missing_column,
        fmt::format("the model names no columns and reads {}; {} has {} beside label, "
                    "id and weight",
                    trees->columns(), data.name(), spec.columns.size()),
        "name those that are no inputs by --ignore, or all inputs in their order in "
        "task.toml: [[inputs]] columns = [...]");
  exec.note(
      fmt::format("the model names no columns: it gets the {} columns of {} in their order",
                  spec.columns.size(), data.name()));
  return {spec};
}

// The task of a model whose file stores none.
Task named_classes(const Model& model, Task task, const std::string& positive,
                   const DataSource& data, const Exec& exec) {
  if (task.rate)
    throw Error(ErrorKind::bad_option,
                "the threshold is a rate: only training can turn it into a threshold",
                "give the threshold itself: --threshold P");
  const Index outputs = model.head->outputs(), count = std::max<Index>(2, outputs);
  if (task.classes.empty())
    task.classes = task.label.empty() ? classes_without_labels(count, positive)
                                      : classes_in(data, task, positive, exec);
  if (std::ssize(task.classes) != count)
    throw Error(ErrorKind::bad_task,
                fmt::format("the model has {} classes, the label \"{}\" has {}", count,
                            task.label, task.classes.size()),
                "name all classes in the order of the model's outputs: classes = [...] in "
                "task.toml");
  if (task.favorable.empty() && task.binary()) task.favorable = task.classes[1];
  return task;
}

}  // namespace

Model complete_model(Model model, const DataSource& data, const TaskChanges& changes,
                     const Exec& exec) {
  Task task = complete_task(model.task, changes);
  if (model.task.classes.empty())
    task = named_classes(
        model, std::move(task),
        changes.flags.positive.value_or(changes.file.positive.value_or("")), data, exec);
  if (task.inputs.empty()) task.inputs = columns_in_order(model, task, data, exec);
  set_task(model, std::move(task), changes.inputs);
  return model;
}

}  // namespace fmd
