#include "fmd/pipeline/complete_task.h"

#include <algorithm>

#include "core/check.h"
#include "fmd/formats/features_file.h"
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
  set_task(model, std::move(task), changes.inputs);
  return model;
}

}  // namespace fmd
