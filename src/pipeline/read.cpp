#include "fmd/pipeline/read.h"

#include <fmt/format.h>

#include "data/columnar/npy_tensor.h"
#include "fmd/core/error.h"
#include "fmd/data/attribute.h"
#include "fmd/data/datasets.h"
#include "fmd/data/table_stream.h"
#include "fmd/formats/features_file.h"
#include "pipeline/study_parts.h"

namespace fmd {

CsvOptions csv_options(const Task& task) {
  CsvOptions options;
  options.types = task.types;
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

namespace {

// The tensors that the task's [[inputs]] name, one for each row.
void add_tensors(const Model& model, const Task& task, const std::string& name,
                 Table& table) {
  for (const std::string& input : model.backbone->inputs().tensors) {
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

}  // namespace

Table read_for(const Model& model, const Task& task, const std::string& name,
               const GroupsFile& groups, const std::filesystem::path& data_folder,
               const Exec& exec) {
  CsvOptions options = table_options(model, task);
  if (!groups.key.empty()) options.types[groups.key] = ColumnKind::category;
  Table table = read_named(name, options, data_folder, exec);
  add_tensors(model, task, name, table);
  if (groups.file.empty()) return table;
  if (groups.key.empty()) {
    throw Error(ErrorKind::bad_option, "--groups needs --key",
                "name the column that both files have: --key COLUMN");
  }
  return join_groups(table, read_table(groups.file, options, exec), groups.key);
}

}  // namespace fmd
