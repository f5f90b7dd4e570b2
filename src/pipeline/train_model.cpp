#include "fmd/pipeline/train_model.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/named_field.h"
#include "fmd/core/error.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/encoder_backbone.h"
#include "fmd/model/passes.h"
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

// The largest model that is trained here. Its memory is some dozen numbers for each
// parameter, and its time grows with rows x features x classes.
constexpr Index kMostParameters = 10'000'000;

// Checked before any memory is taken for the parameters.
void require_trainable(const Encoder& encoder, const Table& table, const Task& task,
                       Index features, Index outputs) {
  if (features <= kMostParameters / outputs) return;
  const auto& columns = encoder.columns();
  const auto widest = std::max_element(columns.begin(), columns.end(),
                                       [](const EncodedColumn& a, const EncodedColumn& b) {
                                         return a.levels.size() < b.levels.size();
                                       });
  throw Error(
      ErrorKind::bad_data,
      fmt::format("{}: {} features for {} classes of column \"{}\" are {} parameters, at "
                  "most {} are trained; column \"{}\" has {} categories",
                  table.source, features, task.classes.size(), task.label,
                  features * outputs, kMostParameters, widest->name, widest->levels.size()),
      fmt::format("leave it out with --ignore {}, or join categories", widest->name));
}

// Who takes a column of names for the label should not wait without a word.
void note_many_classes(const Table& table, const Task& task, Index features, Index outputs,
                       const Exec& exec) {
  constexpr Index kManyClasses = 100, kManyAnswers = 5'000'000;
  if (outputs < kManyClasses || table.rows() * outputs < kManyAnswers) return;
  exec.note(fmt::format(
      "the label \"{}\" has {} classes, so {} parameters are trained: each "
      "pass computes {} x {} answers, and training takes some hundred passes",
      task.label, task.classes.size(), features * outputs, table.rows(), outputs));
}

// A model without its head, and the rows to train the head on.
struct Start {
  Model model;
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;
  std::vector<float> weight;
  Index outputs = 1;

  [[nodiscard]] Rows rows() const { return {X.get(), y, weight, {}}; }
};

Start start_model(const Table& table, Task task, const Exec& exec) {
  if (task.label.empty()) {
    throw Error(ErrorKind::bad_option, "train: no label column is named",
                "say which column is predicted: --label COLUMN");
  }
  if (task.classes.empty()) task.classes = label_classes(table, task.label, "");
  if (task.favorable.empty() && task.binary()) task.favorable = task.classes[1];
  Start start;
  start.y = labels(table, task);
  require_classes(start.y, table, task);
  const std::vector<std::string> columns = input_columns(table, task);
  for (const AttributeSpec& spec : task.attributes)
    for (const std::string& note : notes_of(read_attribute(table, spec, columns)))
      exec.note(note);
  if (columns.empty()) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: no column is left to predict {} from",
                                                 table.source, task.label));
  }
  const Encoder encoder(table, columns, {}, task.unseen);
  start.model.backbone = std::make_shared<EncoderBackbone>(encoder);
  start.outputs = task.binary() ? 1 : static_cast<Index>(task.classes.size());
  require_trainable(encoder, table, task, start.model.backbone->cols(), start.outputs);
  note_many_classes(table, task, start.model.backbone->cols() + 1, start.outputs, exec);
  start.X = start.model.backbone->features(table, {}, exec);
  start.weight = row_weights(table, task.weight);
  start.model.task = std::move(task);
  return start;
}

// Completes the trained model: the threshold that gives the wanted rate, and the note.
void finish_model(const Start& start, const Table& table, const std::string& data_sha256,
                  double l2, double relative_gradient, const Exec& exec, Model& model) {
  if (model.task.rate) {
    const Matrix p = all_probabilities(*model.head, start.rows(), model.theta, exec);
    model.task.threshold = threshold_for_rate(p, *model.task.rate);
    model.task.rate.reset();
  }
  model.note = {.rows = table.rows(),
                .l2 = l2,
                .relative_gradient = relative_gradient,
                .data = table.source,
                .data_sha256 = data_sha256,
                .seed = exec.seed,
                .row_hashes = row_hashes(table, model.hashed_columns())};
  std::sort(model.note.row_hashes.begin(), model.note.row_hashes.end());
}

constexpr Name<ModelKind> kModelKinds[] = {{ModelKind::logistic, "logistic"},
                                           {ModelKind::mlp, "mlp"}};

// "100,50" as widths.
std::vector<Index> parse_widths(const std::string& text) {
  std::vector<Index> widths;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    Index width = 0;
    const auto [last, error] = std::from_chars(text.data() + at, text.data() + end, width);
    if (error != std::errc() || last != text.data() + end || width < 1 || width > 1000000 ||
        widths.size() == 1000) {
      throw Error(
          ErrorKind::bad_option,
          fmt::format("train: option hidden is '{}', must be at most 1000 widths from 1 to "
                      "1000000, separated by commas",
                      text),
          "for two hidden layers write --hidden 100,100");
    }
    widths.push_back(width);
    at = end + 1;
  }
  return widths;
}

TextField widths_field(std::vector<Index>& widths) {
  return {.get = [&widths] { return fmt::format("{}", fmt::join(widths, ",")); },
          .set = [&widths](const std::string& text) { widths = parse_widths(text); }};
}

}  // namespace

std::vector<OptionField> fields(TrainModelOptions& o) {
  AdamOptions& adam = o.mlp.adam;
  return {
      {.name = "kind",
       .value = named(o.kind, kModelKinds, "train", "kind"),
       .flag = "--kind",
       .help = "logistic or mlp"},
      {.name = "l2",
       .value = &o.l2,
       .flag = "--l2",
       .help = "Ridge on the weights; -1 = 1 / rows"},
      {.name = "hidden",
       .value = widths_field(o.mlp.hidden),
       .flag = "--hidden",
       .help = "mlp: widths of the hidden layers"},
      {.name = "activation",
       .value = named(o.mlp.activation, parse_activation),
       .flag = "--activation",
       .help = "mlp: relu, tanh or gelu"},
      {.name = "epochs",
       .value = &adam.epochs,
       .flag = "--epochs",
       .help = "mlp: passes over the rows, at most"},
      {.name = "batch",
       .value = &adam.batch,
       .flag = "--batch",
       .help = "mlp: rows in one step of Adam"},
      {.name = "learning_rate",
       .value = &adam.learning_rate,
       .flag = "--learning-rate",
       .help = "mlp: learning rate of Adam"},
      {.name = "validation",
       .value = &adam.validation,
       .flag = "--validation",
       .help = "mlp: share of the rows that is held back to decide when to stop; 0 = run "
               "all epochs"},
      {.name = "patience",
       .value = &adam.patience,
       .flag = "--patience",
       .help = "mlp: stop after this many epochs without a lower loss on those rows"},
  };
}

TrainModelResult train(const Table& table, Task task, const std::string& data_sha256,
                       const TrainModelOptions& options, const Exec& exec) {
  if (options.kind == ModelKind::logistic)
    return train_model(table, std::move(task), data_sha256, {.l2 = options.l2}, exec);
  MlpOptions mlp = options.mlp;
  mlp.adam.l2 = options.l2;
  return train_mlp(table, std::move(task), data_sha256, mlp, exec);
}

TrainModelResult train_model(const Table& table, Task task, const std::string& data_sha256,
                             const TrainOptions& options, const Exec& exec) {
  const Start start = start_model(table, std::move(task), exec);
  const LinearHead head(start.X->cols(), start.outputs);
  TrainResult trained = train_linear(head, start.rows(), options, exec);
  TrainModelResult result{
      .model = start.model, .summary = trained.summary, .adam = std::nullopt};
  result.model.head = std::make_shared<LinearHead>(head);
  result.model.theta = std::move(trained.theta);
  finish_model(start, table, data_sha256, trained.summary.l2,
               trained.summary.relative_gradient, exec, result.model);
  return result;
}

TrainModelResult train_mlp(const Table& table, Task task, const std::string& data_sha256,
                           const MlpOptions& options, const Exec& exec) {
  const Start start = start_model(table, std::move(task), exec);
  std::vector<Index> widths = options.hidden;
  widths.insert(widths.begin(), start.X->cols());
  widths.push_back(start.outputs);
  const auto head = std::make_shared<const MlpHead>(std::move(widths), options.activation);
  AdamResult trained = train_adam(*head, start.rows(), options.adam, exec);
  TrainModelResult result{.model = start.model, .summary = {}, .adam = trained.summary};
  result.model.head = head;
  result.model.theta = std::move(trained.theta);
  finish_model(start, table, data_sha256, trained.summary.l2,
               trained.summary.relative_gradient, exec, result.model);
  return result;
}

bool can_train(const Model& model) {
  return dynamic_cast<const EncoderBackbone*>(model.backbone.get()) != nullptr;
}

TrainModelResult train_without(const Model& model, const Table& table,
                               const std::vector<std::string>& columns, const Exec& exec) {
  Task task = model.task;
  // Only inputs of the model: the table may have other columns.
  task.ignore.clear();
  for (const Column& column : table.columns) {
    const bool dropped =
        std::find(columns.begin(), columns.end(), column.name) != columns.end();
    if (dropped || !model.backbone->inputs().reads(column.name))
      task.ignore.push_back(column.name);
  }
  const auto* head = dynamic_cast<const MlpHead*>(model.head.get());
  if (head == nullptr) return train_model(table, task, "", {.l2 = model.note.l2}, exec);
  const std::vector<Index> widths = head->widths();
  return train_mlp(table, task, "",
                   {.hidden = {widths.begin() + 1, widths.end() - 1},
                    .activation = head->activation(),
                    .adam = {.l2 = model.note.l2}},
                   exec);
}

}  // namespace fmd
