#include "fmd/pipeline/complete_task.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "core/check.h"
#include "data/words.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/features_file.h"
#include "fmd/model/tree_backbone.h"
#include "fmd/pipeline/read.h"
#include "pipeline/complete_task.h"
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

bool has_column(const DataSource& data, const Task& task, const Exec& exec) {
  const std::vector<std::string> names = data.open(csv_options(task), exec).names();
  return std::find(names.begin(), names.end(), task.label) != names.end();
}

// A model whose file names no classes has 0, 1, ... for its outputs. Labels that are other
// numbers, such as -1 and 1, name them in ascending order; texts have no order.
void name_by_labels(const DataSource& data, const Exec& exec, Task& task) {
  for (std::size_t k = 0; k < task.classes.size(); ++k)
    if (task.classes[k] != std::to_string(k)) return;
  if (task.label.empty() || data.is_features() || !has_column(data, task, exec)) return;
  const Table labels = label_values(data, csv_options(task), task.label, exec);
  const Column& column = labels.column(task.label);
  std::vector<std::pair<double, std::string>> values;
  for (Index row = 0; row < labels.rows(); ++row) {
    const std::string text = column.text(row);
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || read != end) return;
    values.emplace_back(value, text);
  }
  std::sort(values.begin(), values.end());
  std::vector<std::string> names;
  for (const auto& [value, text] : values) names.push_back(text);
  if (names.size() != task.classes.size() || names == task.classes) return;
  task.classes = names;
  if (task.binary() && task.favorable.empty()) task.favorable = names[1];
  exec.note(
      fmt::format("the model's outputs are taken for the labels {} in this order; "
                  "classes = [...] in task.toml says it otherwise",
                  list_words(names)));
}

bool names_image(const std::string& text) {
  std::string ending = std::filesystem::path(text).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

// Where --images is given and no [[inputs]] says which column names them: the only one
// whose first cells are names of images. Nothing where a column is called "file".
void find_images(const DataSource& data, const Exec& exec, Task& task) {
  TableStream stream = data.open(csv_options(task), exec);
  const auto& names = stream.names();
  Table block;
  if (std::find(names.begin(), names.end(), "file") != names.end() || !stream.next(block))
    return;
  std::vector<std::string> found;
  for (const Column& column : block.columns) {
    if (column.kind != ColumnKind::category) continue;
    bool all = block.rows() > 0;
    for (Index row = 0; all && row < std::min<Index>(block.rows(), 20); ++row)
      all = names_image(column.text(row));
    if (all) found.push_back(column.name);
  }
  if (found.size() > 1)
    throw Error(ErrorKind::bad_task,
                fmt::format("{}: columns \"{}\" and \"{}\" both name images", data.name(),
                            safe_text(found[0]), safe_text(found[1])),
                "say which column in task.toml: [[inputs]] with image = \"COLUMN\"");
  if (found.empty()) return;
  task.inputs.emplace_back().image = found[0];
  exec.note(fmt::format("column \"{}\" names the images", safe_text(found[0])));
}

}  // namespace

Model complete_model(Model model, const DataSource& data, const TaskChanges& changes,
                     const Exec& exec) {
  Task task = complete_task(model.task, changes);
  if (!model.task.classes.empty() && task.classes == model.task.classes)
    name_by_labels(data, exec, task);
  if (model.task.classes.empty())
    task = named_classes(
        model, std::move(task),
        changes.flags.positive.value_or(changes.file.positive.value_or("")), data, exec);
  if (task.inputs.empty()) task.inputs = columns_in_order(model, task, data, exec);
  if (!changes.inputs.images.empty() && task.inputs.empty() && !data.is_features())
    find_images(data, exec, task);
  set_task(model, std::move(task), changes.inputs);
  match_images(model, changes, exec);
  return model;
}

}  // namespace fmd

namespace fmd::internal {

void match_images(Model& model, const TaskChanges& changes, const Exec& exec) {
  const InputSchema& inputs = model.backbone->inputs();
  if (inputs.files.empty() || changes.flags.pairs || model.task.label.empty()) return;
  for (AttributeSpec& attribute : model.task.attributes) {
    const std::vector<std::string> columns = attribute.columns.empty()
                                                 ? std::vector<std::string>{attribute.name}
                                                 : attribute.columns;
    if (attribute.pairs != "flip" ||
        std::any_of(columns.begin(), columns.end(),
                    [&](const std::string& name) { return inputs.reads(name); }))
      continue;
    attribute.pairs = "match:overlap";
    exec.note(
        fmt::format("{}: an image has no column to flip: rows are matched by their "
                    "other columns (--pairs match:overlap)",
                    safe_text(attribute.name)));
  }
}

}  // namespace fmd::internal
