#include "fmd/pipeline/train_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/metrics/scored.h"
#include "fmd/pipeline/study.h"

namespace fmd {
namespace {

std::vector<std::string> input_columns(const Table& table, const Task& task) {
  std::vector<std::string> columns;
  for (const Column& column : table.columns) {
    const std::string& name = column.name;
    if (name == task.label || name == task.id || name == task.weight) continue;
    if (std::find(task.ignore.begin(), task.ignore.end(), name) != task.ignore.end())
      continue;
    columns.push_back(name);
  }
  return columns;
}

void require_classes(const std::vector<std::int32_t>& y, const Table& table,
                     const Task& task) {
  for (std::size_t k = 0; k < task.classes.size(); ++k) {
    if (std::find(y.begin(), y.end(), static_cast<std::int32_t>(k)) != y.end()) continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no row has {} = {}; a model needs rows of every class",
                            table.source, task.label, task.classes[k]),
                "train on rows of all classes");
  }
  const auto unknown = std::find(y.begin(), y.end(), -1);
  if (unknown != y.end()) {
    throw Error(ErrorKind::bad_value,
                fmt::format("{}, column \"{}\": the label is missing",
                            table.where(unknown - y.begin()), task.label),
                "train on labelled rows only");
  }
}

}  // namespace

TrainModelResult train_model(const Table& table, Task task, const std::string& data_sha256,
                             const TrainOptions& options, const Exec& exec) {
  if (task.label.empty()) {
    throw Error(ErrorKind::bad_option, "train: no label column is named",
                "say which column is predicted: --label COLUMN");
  }
  if (task.classes.empty()) task.classes = label_classes(table, task.label, "");
  if (task.favorable.empty() && task.binary()) task.favorable = task.classes[1];
  const std::vector<std::int32_t> y = labels(table, task);
  require_classes(y, table, task);
  for (const AttributeSpec& spec : task.attributes) (void)read_attribute(table, spec);
  const std::vector<std::string> columns = input_columns(table, task);
  if (columns.empty()) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: no column is left to predict {} from",
                                                 table.source, task.label));
  }

  TrainModelResult result;
  Model& model = result.model;
  model.task = task;
  model.backbone =
      std::make_shared<TableBackbone>(Encoder(table, columns, {}, task.unseen));
  const Index outputs = task.binary() ? 1 : static_cast<Index>(task.classes.size());
  model.head = std::make_shared<LinearHead>(model.backbone->cols(), outputs);

  const std::unique_ptr<Features> X = model.backbone->features(table, {}, exec);
  const std::vector<float> weight = row_weights(table, task.weight);
  const Rows rows{.X = X.get(), .y = y, .weight = weight, .subset = {}};
  TrainResult trained = train_linear(*model.head, rows, options, exec);
  model.theta = std::move(trained.theta);
  result.summary = trained.summary;

  if (task.rate) {
    const Matrix p = all_probabilities(*model.head, rows, model.theta, exec);
    model.task.threshold = threshold_for_rate(p, *task.rate);
    model.task.rate.reset();
  }
  model.note = {.rows = table.rows(),
                .l2 = trained.summary.l2,
                .relative_gradient = trained.summary.relative_gradient,
                .data = table.source,
                .data_sha256 = data_sha256,
                .seed = exec.seed,
                .row_hashes = row_hashes(table, model.hashed_columns())};
  std::sort(model.note.row_hashes.begin(), model.note.row_hashes.end());
  return result;
}

TrainModelResult train_without(const Model& model, const Table& table,
                               const std::vector<std::string>& columns, const Exec& exec) {
  Task task = model.task;
  // The inputs of the model, not whatever else the table has.
  task.ignore.clear();
  for (const Column& column : table.columns) {
    const bool dropped =
        std::find(columns.begin(), columns.end(), column.name) != columns.end();
    if (dropped || model.backbone->encoder().find(column.name) == nullptr)
      task.ignore.push_back(column.name);
  }
  return train_model(table, task, "", {.l2 = model.note.l2}, exec);
}

}  // namespace fmd
