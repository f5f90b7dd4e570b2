#include "fmd/pipeline/read.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/columnar/npy_tensor.h"
#include "fmd/core/error.h"
#include "fmd/data/datasets.h"
#include "fmd/data/table_stream.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// A model whose classes are numbers from 0 on does not name them: a task may, if it has as
// many. The same numbers in another order are no names.
bool only_names(const std::vector<std::string>& numbers,
                const std::vector<std::string>& names) {
  if (numbers.size() != names.size()) return false;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] != std::to_string(k)) return false;
    const auto same = std::find(numbers.begin(), numbers.end(), names[k]);
    if (same != numbers.end() && *same != numbers[k]) return false;
  }
  return true;
}

}  // namespace

Task complete_task(Task task, const TaskChanges& changes) {
  const std::vector<std::string> classes = task.classes;
  const double trained = task.threshold;
  const auto& threshold = changes.flags.threshold;
  if (!classes.empty() && threshold && threshold->starts_with("rate=")) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("--threshold {}: only training can turn a rate into a threshold",
                    *threshold),
        "give the threshold itself, or train with --threshold rate=R");
  }
  task = merge(merge(std::move(task), changes.file), changes.flags);
  // A rate in task.toml is for training. There it became the model's threshold.
  if (!classes.empty() && task.rate) {
    task.threshold = trained;
    task.rate.reset();
  }
  if (!classes.empty() && task.classes != classes && !only_names(classes, task.classes)) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("the model gives the probability of {}: that is fixed by its training",
                    classes.back()),
        "leave --positive out; --favorable says which answer is good for the person");
  }
  return task;
}

CsvOptions csv_options(const Task& task) {
  CsvOptions options;
  options.types = task.types;
  options.missing.insert(options.missing.end(), task.missing.begin(), task.missing.end());
  if (!task.label.empty()) options.types[task.label] = ColumnKind::category;
  if (!task.id.empty()) options.types[task.id] = ColumnKind::category;
  return options;
}

Table read_named(const std::string& name, const CsvOptions& options,
                 const std::filesystem::path& data_folder, const Exec& exec) {
  if (!name.starts_with("data:")) {
    refuse_features(name);
    return read_table(name, options, exec);
  }
  const std::size_t slash = name.find('/');
  const std::string set = name.substr(5, slash == std::string::npos ? slash : slash - 5);
  const std::string part = slash == std::string::npos ? "" : name.substr(slash + 1);
  Table table = load_dataset(set, data_folder, part);
  table.source = name;  // receipts name what was asked for, not where this machine has it
  return table;
}

void add_tensors(const Model& model, const Task& task, const std::string& name,
                 Table& table) {
  const auto has = [&](const std::string& input) {
    return std::any_of(table.tensors.begin(), table.tensors.end(),
                       [&](const TensorColumn& tensor) { return tensor.name == input; });
  };
  for (const std::string& input : model.backbone->inputs().tensors) {
    if (has(input)) continue;
    for (const InputSpec& spec : task.inputs) {
      if (spec.tensor.empty() || (!spec.name.empty() && spec.name != input)) continue;
      std::filesystem::path path = spec.tensor;
      std::string file = path.filename().string();
      if (const std::size_t star = file.find('*'); star != std::string::npos)
        file.replace(star, 1, std::filesystem::path(name).stem().string());
      path.replace_filename(file);
      table.tensors.push_back(npy_tensor(path, input, table.rows()));
      break;
    }
  }
}

Table read_for(const Model& model, const Task& task, const DataSource& data,
               const Exec& exec) {
  Table table = data.read(table_options(model, task), exec);
  add_tensors(model, task, data.name(), table);
  return table;
}

}  // namespace fmd
