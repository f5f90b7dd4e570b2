#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/pipeline/training_data.h"
#include "fmd/report/columns_report.h"

namespace fmd::cli {
namespace {

struct ColumnsArgs {
  Common common;
  TaskOverrides flags;
  std::string data;
};

int run_columns(const ColumnsArgs& args) {
  const Session session(args.common);
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  const TrainingData data = read_training(
      data_source(args.data), file, args.flags,
      {.command = "columns", .need_label = false, .lenient = true}, session.exec());
  if (args.common.json) {
    nlohmann::ordered_json json = {{"schema", 1}, {"command", "columns"}};
    json.update(nlohmann::ordered_json::parse(to_json(data.columns)));
    print(json.dump(2) + "\n");
    return 0;
  }
  print(screen(sheet_of(data.columns)) + warning_lines(data.columns));
  return 0;
}

}  // namespace

void add_columns(CLI::App& app) {
  auto args = std::make_shared<ColumnsArgs>();
  auto* cmd =
      app.add_subcommand("columns", "Show what each column of a table is and becomes");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  add_column_options(*cmd, args->flags);
  add_common(*cmd, args->common);
  cmd->footer(R"(
Examples
  fmd columns loans.csv
  fmd columns loans.csv --label deny --attribute race --category zip)");
  on_run(*cmd, [args] { return run_columns(*args); });
}

}  // namespace fmd::cli
