#pragma once

#include <filesystem>
#include <string>

#include "fmd/data/csv.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/source.h"

namespace fmd {

// What task.toml and flags say about a task. Flags count more.
struct TaskChanges {
  TaskOverrides file = {}, flags = {};
  InputFiles inputs = {};  // that the model's inputs are made of
};

// The task of a model with the changes. Throws what merge() throws; Error(bad_option) for
// changes that only training can make.
[[nodiscard]] Task complete_task(Task task, const TaskChanges& changes);

// How to read the columns that the task knows. Labels and ids are names even when they look
// like numbers.
[[nodiscard]] CsvOptions csv_options(const Task& task);

// A table from a file (CSV, gzipped CSV, NPY, Parquet), or a data set by name
// ("data:adult", "data:adult/test") from the folder of data sets. The table's source is the
// name as it was given.
[[nodiscard]] Table read_named(const std::string& name, const CsvOptions& options,
                               const std::filesystem::path& data_folder,
                               const Exec& exec = {});

// Adds the tensors that the task's [[inputs]] name and the table does not have yet, one
// entry for each row. A * in the name
// of a tensor's file is the name of the data without its ending.
void add_tensors(const Model& model, const Task& task, const std::string& name,
                 Table& table);

// A table with the kinds of columns that the model and the task know, the groups joined and
// the tensors added. Throws what reading throws.
[[nodiscard]] Table read_for(const Model& model, const Task& task, const DataSource& data,
                             const Exec& exec = {});

}  // namespace fmd
