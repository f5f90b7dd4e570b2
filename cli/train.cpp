#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/data/datasets.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/train_model.h"

namespace fmd::cli {
namespace {

struct Args {
  Common common;
  TaskOverrides flags;
  std::string data, out, kind = "logistic";
  TrainOptions options;
  bool force = false;
};

// The task of a data set that is known by name is the starting point.
Task known_task(const std::string& data) {
  if (!data.starts_with("data:")) return {};
  return find_dataset(data.substr(5, data.find('/') - 5)).task;
}

int run(const Args& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  files.reserve(args.out);
  // The classes are in the table, so a task can only be merged once it has been read.
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  Task task = known_task(args.data);
  std::string label = args.flags.label.value_or(file.label.value_or(task.label));
  const std::string id = args.flags.id.value_or(file.id.value_or(""));
  CsvOptions csv;
  if (file.types) csv.types = *file.types;
  if (!label.empty()) csv.types[label] = ColumnKind::category;
  if (!id.empty()) csv.types[id] = ColumnKind::category;
  const Table table = read_data(args.data, csv, session.exec());
  if (label.empty()) {
    throw Error(ErrorKind::bad_option, "train: no label column is named",
                "say which column is predicted: --label COLUMN");
  }
  const std::string positive = args.flags.positive.value_or(file.positive.value_or(""));
  const bool reads_classes = task.classes.empty() || label != task.label;
  if (reads_classes && !file.classes) task.classes = label_classes(table, label, positive);
  task.label = label;
  task = merge(merge(task, file), args.flags);

  const TrainModelResult result =
      train_model(table, task, file_sha256(args.data), args.options, session.exec());
  const Bytes bytes = model_bytes(result.model);
  files.write(args.out, bytes);
  files.commit();

  const TrainSummary& s = result.summary;
  if (args.common.json) {
    const nlohmann::ordered_json json = {{"schema", 1},
                                         {"command", "train"},
                                         {"model", args.out},
                                         {"sha256", hex(sha256(bytes))},
                                         {"rows", table.rows()},
                                         {"features", result.model.backbone->cols()},
                                         {"classes", result.model.task.classes},
                                         {"favorable", result.model.task.favorable},
                                         {"threshold", result.model.task.threshold},
                                         {"l2", s.l2},
                                         {"converged", s.status == TrainStatus::converged},
                                         {"relative_gradient", s.relative_gradient},
                                         {"iterations", s.iterations},
                                         {"seconds", session.seconds()}};
    print(json.dump(2) + "\n");
  } else {
    const Task& t = result.model.task;
    print(fmt::format("data   {}, {} rows; {} columns give {} features\n", table.source,
                      table.rows(), result.model.backbone->encoder().columns().size(),
                      result.model.backbone->cols()));
    print(fmt::format(
        "model  {} regression of {}: {}; favourable: {}; threshold {:.4g}\n",
        t.binary() ? "logistic" : "softmax", t.label,
        t.binary() ? t.classes[1] : std::to_string(t.classes.size()) + " classes",
        t.favorable.empty() ? "none named" : t.favorable, t.threshold));
    for (const EncodedColumn& c : result.model.backbone->encoder().columns())
      if (c.missing > 0)
        print(fmt::format("note   {}: {} missing; {}\n", c.name, c.missing,
                          c.kind == ColumnKind::number
                              ? "the mean and an indicator stand for them"
                              : "a level of their own"));
    print(fmt::format(
        "fit    relative gradient {:.1e} after {} passes, l2 {:.3g}, {:.2f} s\n",
        s.relative_gradient, s.iterations, s.l2, session.seconds()));
    print(fmt::format("wrote  {}\n", args.out));
  }
  if (s.status != TrainStatus::converged)
    say(fmt::format(
        "fmd: the fit stopped at a relative gradient of {:.1e}: are the classes "
        "separable? A larger --l2 helps.",
        s.relative_gradient));
  return 0;
}

}  // namespace

void add_train(CLI::App& app) {
  auto args = std::make_shared<Args>();
  auto* cmd = app.add_subcommand("train", "Train a small model from a table");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  cmd->add_option("-o,--out", args->out, "Where to write the model (.safetensors)")
      ->required();
  cmd->add_option("--kind", args->kind, "logistic")
      ->check(CLI::IsMember({"logistic"}))
      ->capture_default_str();
  cmd->add_option("--l2", args->options.l2, "Ridge on the weights; -1 = 1 / rows")
      ->capture_default_str();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_task_options(*cmd, args->flags);
  add_common(*cmd, args->common);
  cmd->footer(R"(
Examples
  fmd train loans.csv --label deny --positive yes --favorable no --attribute race \
      -o loans.safetensors
  fmd train data:adult/train -o adult.safetensors)");
  on_run(*cmd, [args] { return run(*args); });
}

}  // namespace fmd::cli
