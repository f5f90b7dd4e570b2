#pragma once

#include <string>

#include "fmd/core/exec.h"
#include "fmd/data/columns.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"
#include "fmd/pipeline/source.h"

namespace fmd {

// A table to train on, with the kinds of its columns settled.
struct TrainingData {
  Table table;
  Task task;  // free text is among its ignored columns
  ColumnsReport columns;
};

struct TrainingDataOptions {
  std::string command;            // for messages: "train"
  bool need_label = true;         // false: a table may be looked at without one
  bool lenient = false;           // odd cells are warnings (see settle_columns)
  Unseen unseen = Unseen::error;  // unless the task says something else
};

// Reads a table and finds its task: what is known of a data set by name, then task.toml,
// then flags. The classes come from the table. Throws
// what reading and settle_columns() throw, and Error(bad_option) without a label.
[[nodiscard]] TrainingData read_training(const DataSource& source,
                                         const TaskOverrides& file,
                                         const TaskOverrides& flags,
                                         const TrainingDataOptions& options,
                                         const Exec& exec);

}  // namespace fmd
