#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/scorecard.h"

namespace fmd::cli {
namespace {

struct ImportArgs {
  Common common;
  TaskOverrides flags;
  std::string coefficients, negative, out;
  bool force = false;
};

int run_import(const ImportArgs& args) {
  OutputFiles files({.force = args.force});
  files.reserve(args.out);
  Task task;
  task.classes = {args.negative, args.flags.positive.value_or("yes")};
  task.unseen = Unseen::bucket;
  task = effective_task(task, args.common, args.flags);
  if (task.favorable.empty()) task.favorable = task.classes[1];
  CsvOptions csv;
  for (const char* name : {"feature", "term", "variable", "name"})
    csv.types[name] = ColumnKind::category;
  const Model model = read_scorecard(read_data(args.coefficients, csv), task);
  files.write(args.out, model_bytes(model));
  files.commit();
  const Index columns = std::ssize(model.backbone->inputs().columns);
  if (args.common.json) {
    print(nlohmann::ordered_json{{"schema", 1},
                                 {"command", "import"},
                                 {"columns", columns},
                                 {"parameters", model.theta.size()},
                                 {"out", args.out}});
  } else {
    say(fmt::format("wrote {}: {} columns, {} parameters", args.out, columns,
                    model.theta.size()));
  }
  return 0;
}

}  // namespace

void add_import(CLI::App& app) {
  auto args = std::make_shared<ImportArgs>();
  auto* cmd = app.add_subcommand(
      "import", "Make a model from a table of coefficients: a scorecard, R, SAS");
  cmd->add_option(
         "coefficients", args->coefficients,
         "CSV with the columns feature and coefficient: age, sex=Male, (Intercept)")
      ->required();
  cmd->add_option("-o,--out", args->out, "Where to write the model")->required();
  cmd->add_option("--negative", args->negative, "The other label value")->required();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_task_options(*cmd, args->flags);
  add_common(*cmd, args->common);
  cmd->footer(R"(
The coefficients give the log-odds of --positive. A level that is not listed counts 0, as the reference
level of a regression does. Numbers count as they are: undo a standardisation first.

Example
  fmd import card.csv --label approved --positive yes --negative no --attribute sex -o card.safetensors)");
  on_run(*cmd, [args] { return run_import(*args); });
}

}  // namespace fmd::cli
