#include "fmd/pipeline/predict.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"

namespace fmd::cli {
namespace {

struct PredictArgs {
  Common common;
  TaskOverrides flags;
  std::string model, data, out;
  bool force = false, guard = false;
};

int run_predict(const PredictArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force, .standard = standard_output(args.common)});
  if (!args.out.empty()) files.reserve(args.out);
  const auto model = open_model_file(args.model, formats(args.common));
  const Index rows = predict(
      *model, data_source(args.data), task_changes(args.common, args.flags),
      [&](std::string_view text) {
        if (args.out.empty()) {
          print(std::string(text));
        } else {
          files.append(args.out, text);
        }
      },
      session.exec(), args.guard ? CsvGuard::formulas : CsvGuard::none);
  if (args.out.empty()) return 0;
  files.commit();
  if (args.common.json) {
    print(nlohmann::ordered_json{
        {"schema", 1}, {"command", "predict"}, {"rows", rows}, {"out", args.out}});
  } else {
    say(fmt::format("wrote {}, {} rows", args.out, rows));
  }
  return 0;
}

}  // namespace

void add_predict(CLI::App& app) {
  auto args = std::make_shared<PredictArgs>();
  auto* cmd = app.add_subcommand(
      "predict", "Write the scores of a model as CSV: row, predicted, p_<class>");
  cmd->add_option("model", args->model, "Model file")->required();
  cmd->add_option("data", args->data,
                  "A table of any size, a file of features, or data:NAME")
      ->required();
  cmd->add_option("-o,--out", args->out, "Where to write the scores; without -o, stdout");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_guard(*cmd, args->guard);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer("\nExample\n  fmd predict income.safetensors test.csv -o scores.csv");
  on_run(*cmd, [args] { return run_predict(*args); });
}

}  // namespace fmd::cli
