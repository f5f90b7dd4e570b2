#include "fmd/pipeline/complete_task.h"

#include <algorithm>

#include "core/check.h"
#include "fmd/core/file.h"
#include "fmd/formats/features_file.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/score_files.h"

namespace fmd {
namespace {

std::vector<std::string> classes_in(const std::string& data, const Task& task,
                                    const std::string& positive,
                                    const std::filesystem::path& data_folder,
                                    const Exec& exec) {
  const CsvOptions csv = csv_options(task);
  if (data.starts_with("data:"))
    return label_classes(read_named(data, csv, data_folder, exec), task.label, positive);
  if (is_features_file(FileView::open(data).bytes()))
    return FeaturesFile::open(data).note().classes;
  return label_classes(read_label_values(data, csv, task.label, exec), task.label,
                       positive);
}

std::vector<std::string> classes_without_labels(Index count, const std::string& positive) {
  if (count == 2) return {"no", positive.empty() ? "yes" : positive};
  std::vector<std::string> classes;
  for (Index k = 0; k < count; ++k) classes.push_back(std::to_string(k));
  return classes;
}

}  // namespace

Task complete_task(const Model& model, Task task, const std::string& positive,
                   const std::string& data, const std::filesystem::path& data_folder,
                   const Exec& exec) {
  if (!model.task.classes.empty()) return task;
  if (task.rate)
    throw Error(ErrorKind::bad_option,
                "the threshold is a rate: only training can turn it into a threshold",
                "give the threshold itself: --threshold P");
  const Index outputs = model.head->outputs(), count = std::max<Index>(2, outputs);
  if (task.classes.empty())
    task.classes = task.label.empty() ? classes_without_labels(count, positive)
                                      : classes_in(data, task, positive, data_folder, exec);
  if (std::ssize(task.classes) != count)
    throw Error(ErrorKind::bad_task,
                fmt::format("the model has {} classes, the label \"{}\" has {}", count,
                            task.label, task.classes.size()),
                "name all classes in the order of the model's outputs: classes = [...] in "
                "task.toml");
  if (task.favorable.empty() && task.binary()) task.favorable = task.classes[1];
  return task;
}

}  // namespace fmd
