#include "fmd/pipeline/training_data.h"

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/data/datasets.h"
#include "fmd/pipeline/read.h"

namespace fmd {
namespace {

// A data set that is known by name has a task to start from.
Task known_task(const std::string& name) {
  if (!name.starts_with("data:")) return {};
  return find_dataset(name.substr(5, name.find('/') - 5)).task;
}

// The classes are in the table, so what is read first is a task without them.
Task task_for_reading(Task known, const TaskOverrides& file, const TaskOverrides& flags) {
  known.classes.clear();
  return merge(merge(std::move(known), file), flags);
}

CsvOptions training_options(const Task& task) {
  CsvOptions options = csv_options(task);
  for (const std::string& column : open_attribute_columns(task))
    options.types[column] = ColumnKind::category;
  return options;
}

}  // namespace

TrainingData read_training(const DataSource& source, const TaskOverrides& file,
                           const TaskOverrides& flags, const TrainingDataOptions& options,
                           const Exec& exec) {
  TrainingData data;
  Task task = known_task(source.name());
  const Task early = task_for_reading(task, file, flags);
  data.table = source.read(training_options(early), exec);
  if (early.label.empty() && options.need_label) {
    throw Error(ErrorKind::bad_option,
                fmt::format("{}: no label column is named", options.command),
                "say which column is predicted: --label COLUMN");
  }
  data.columns = settle_columns(data.table, early, options.lenient);
  const std::string positive = flags.positive.value_or(file.positive.value_or(""));
  const bool reads_classes = task.classes.empty() || early.label != task.label;
  if (!early.label.empty() && reads_classes && !file.classes)
    task.classes = label_classes(data.table, early.label, positive);
  task.label = early.label;
  task.unseen = options.unseen;
  task = merge(merge(std::move(task), file), flags);
  // The command's word for both is bucket.
  if (options.unseen == Unseen::counted && task.unseen == Unseen::bucket)
    task.unseen = Unseen::counted;
  const bool favorable_given = !task.favorable.empty();
  if (!favorable_given && task.binary()) task.favorable = task.classes[1];
  if (!task.label.empty())
    for (ColumnWarning& warning : label_warnings(data.table, task, favorable_given))
      data.columns.warnings.push_back(std::move(warning));
  for (const std::string& column : data.columns.left_out) task.ignore.push_back(column);
  data.task = std::move(task);
  return data;
}

}  // namespace fmd
