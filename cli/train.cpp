#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/rows_file.h"
#include "fmd/pipeline/train_model.h"
#include "fmd/pipeline/training_data.h"
#include "fmd/report/columns_report.h"

namespace fmd::cli {
namespace {

constexpr std::size_t kMostColumns = 40;  // in the table on the screen

struct TrainArgs {
  Common common;
  TaskOverrides flags;
  std::string data, out, kind = "logistic";
  double l2 = -1;
  std::string hidden = "100,100", activation = "relu";
  MlpOptions mlp;
  bool force = false;
};

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

MlpOptions mlp_options(const TrainArgs& args) {
  MlpOptions options = args.mlp;
  options.hidden = parse_widths(args.hidden);
  options.activation = parse_activation(args.activation);
  options.adam.l2 = args.l2;
  return options;
}

std::string describe(const Model& model) {
  const Task& t = model.task;
  std::string kind = t.binary() ? "logistic regression" : "softmax regression";
  if (const auto* head = dynamic_cast<const MlpHead*>(model.head.get())) {
    const std::vector<Index> widths = head->widths();
    kind = fmt::format("network {}, {},", fmt::join(widths, "-"),
                       to_string(head->activation()));
  }
  return fmt::format(
      "{} of {}: {}; favourable: {}; threshold {:.4g}", kind, t.label,
      t.binary() ? t.classes[1] : std::to_string(t.classes.size()) + " classes",
      t.favorable.empty() ? "none named" : t.favorable, t.threshold);
}

std::string describe(const AdamSummary& s) {
  std::string text = fmt::format("{} epochs", s.epochs);
  if (s.validation_rows > 0)
    text += fmt::format(", best {}: log loss {:.4f} on {} rows held back", s.best_epoch,
                        s.validation_loss, s.validation_rows);
  return text;
}

const char* name(AdamStatus status) {
  switch (status) {
    case AdamStatus::not_run:
      return "not_run";
    case AdamStatus::stopped_early:
      return "stopped_early";
    case AdamStatus::all_epochs:
      return "all_epochs";
    case AdamStatus::told_to_stop:
      return "told_to_stop";
    case AdamStatus::diverged:
      return "diverged";
  }
  return "";
}

int run_train(const TrainArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  files.reserve(rows_file_of(args.out));
  files.reserve(args.out);
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  const TrainingData data =
      read_training(data_source(args.data), file, args.flags,
                    {.command = "train", .unseen = Unseen::counted}, session.exec());
  const Table& table = data.table;
  const Task& task = data.task;
  fmt::print(stderr, "{}", warning_lines(data.columns));

  const std::string sha256_of_data = file_sha256(args.data);
  const TrainModelResult result =
      args.kind == "mlp"
          ? train_mlp(table, task, sha256_of_data, mlp_options(args), session.exec())
          : train_model(table, task, sha256_of_data, {.l2 = args.l2}, session.exec());
  const Bytes bytes = model_bytes(result.model);
  files.write(rows_file_of(args.out), rows_bytes(result.model.note.row_hashes));
  files.write(args.out, bytes);
  files.commit();

  const TrainSummary& s = result.summary;
  if (args.common.json) {
    nlohmann::ordered_json json = {{"schema", 1},
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
    const auto columns = nlohmann::ordered_json::parse(to_json(data.columns));
    for (const char* key : {"columns", "warnings", "left_out"}) json[key] = columns[key];
    if (result.adam) {
      const AdamSummary& a = *result.adam;
      const bool held = a.validation_rows > 0;
      json["converged"] = nullptr;  // early stopping looks for no optimum
      json["l2"] = a.l2;
      json["relative_gradient"] = a.relative_gradient;
      json["iterations"] = a.epochs;
      json["layers"] = result.model.head->widths();
      json["adam"] = {
          {"status", name(a.status)},
          {"epochs", a.epochs},
          {"best_epoch", a.best_epoch},
          {"validation_rows", a.validation_rows},
          {"validation_loss", held ? nlohmann::json(a.validation_loss) : nlohmann::json()},
          {"objective", a.objective}};
    }
    print(json);
  } else {
    print_line(fmt::format("data   {}, {} rows; {} columns give {} features", table.source,
                           table.rows(), result.model.backbone->inputs().columns.size(),
                           result.model.backbone->cols()));
    print_line(fmt::format("model  {}", describe(result.model)));
    Sheet sheet;
    sheet.sections.push_back(columns_section(data.columns, kMostColumns));
    print(screen(sheet));
    if (result.adam) {
      print_line(fmt::format("fit    {}, l2 {:.3g}, {:.2f} s", describe(*result.adam),
                             result.adam->l2, session.seconds()));
    } else {
      print_line(fmt::format(
          "fit    relative gradient {:.1e} after {} passes, l2 {:.3g}, {:.2f} s",
          s.relative_gradient, s.iterations, s.l2, session.seconds()));
    }
    print_line(fmt::format("wrote  {}", args.out));
  }
  if (result.adam && result.adam->status == AdamStatus::diverged)
    say(
        fmt::format("fmd: training diverged in epoch {}; the model is that of epoch {}. A "
                    "smaller --learning-rate helps.",
                    result.adam->epochs, result.adam->best_epoch));
  if (!result.adam && s.status != TrainStatus::converged)
    say(
        fmt::format("fmd: the fit stopped at a relative gradient of {:.1e}: are the "
                    "classes separable? A larger --l2 helps.",
                    s.relative_gradient));
  return 0;
}

constexpr const char* kMlpOptions[] = {"--hidden",    "--activation",    "--epochs",
                                       "--batch",     "--learning-rate", "--patience",
                                       "--validation"};

void add_mlp_options(CLI::App& cmd, TrainArgs& args) {
  const Topic topic(cmd, "Networks (--kind mlp)");
  AdamOptions& adam = args.mlp.adam;
  cmd.add_option("--hidden", args.hidden, "mlp: widths of the hidden layers")
      ->capture_default_str();
  cmd.add_option("--activation", args.activation, "mlp: relu, tanh or gelu")
      ->capture_default_str();
  cmd.add_option("--epochs", adam.epochs, "mlp: passes over the rows, at most")
      ->capture_default_str();
  cmd.add_option("--batch", adam.batch, "mlp: rows in one step of Adam")
      ->capture_default_str();
  cmd.add_option("--learning-rate", adam.learning_rate, "mlp: learning rate of Adam")
      ->capture_default_str();
  cmd.add_option("--validation", adam.validation,
                 "mlp: share of the rows that is held back to decide when to stop; 0 = run "
                 "all epochs")
      ->capture_default_str();
  cmd.add_option("--patience", adam.patience,
                 "mlp: stop after this many epochs without a lower loss on those rows")
      ->capture_default_str();
}

}  // namespace

void add_train(CLI::App& app) {
  auto args = std::make_shared<TrainArgs>();
  auto* cmd = app.add_subcommand("train", "Train a small model from a table");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  cmd->add_option("-o,--out", args->out, "Where to write the model (.safetensors)")
      ->required();
  cmd->add_option("--kind", args->kind, "logistic or mlp")
      ->check(CLI::IsMember({"logistic", "mlp"}))
      ->capture_default_str();
  cmd->add_option("--l2", args->l2, "Ridge on the weights; -1 = 1 / rows")
      ->capture_default_str();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_task_options(*cmd, args->flags);
  add_mlp_options(*cmd, *args);
  add_common(*cmd, args->common);
  cmd->footer(R"(
Examples
  fmd train loans.csv --label deny --positive yes --favorable no --attribute race \
      -o loans.safetensors
  fmd train data:adult/train -o adult.safetensors
  fmd train data:adult/train --kind mlp --hidden 100,100,100 -o adult_mlp.safetensors)");
  on_run(*cmd, [args, cmd] {
    if (args->kind != "mlp") {
      for (const char* option : kMlpOptions)
        if (cmd->count(option) > 0)
          throw Error(ErrorKind::bad_option,
                      fmt::format("train: {} is for --kind mlp", option),
                      "add --kind mlp, or leave it out");
    }
    return run_train(*args);
  });
}

}  // namespace fmd::cli
