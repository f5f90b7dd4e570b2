#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd::cli {
namespace {

struct FeaturesArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, out;
  bool force = false;
};

int run_features(const FeaturesArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force, .standard = standard_output(args.common)});
  files.reserve(args.out);
  Model model = open_model(args.model, formats(args.common));
  apply_task(model, args.common, args.flags, args.data, session.exec());
  StudyStream stream(model, model.task,
                     DataSource::file(args.data, data_folder()).joined(args.groups),
                     {.weights = true}, session.exec());
  write_features(model, model.task, stream, file_sha256(args.data), files, args.out);
  files.commit();
  const Index rows = stream.rows(), cols = model.backbone->cols();
  if (args.common.json) {
    print(nlohmann::ordered_json{{"schema", 1},
                                 {"command", "features"},
                                 {"rows", rows},
                                 {"features", cols},
                                 {"out", args.out}});
  } else {
    say(fmt::format("wrote {}, {} rows x {} features", args.out, rows, cols));
  }
  return 0;
}

}  // namespace

void add_features(CLI::App& app) {
  auto args = std::make_shared<FeaturesArgs>();
  auto* cmd = app.add_subcommand(
      "features", "Write the features that a model reads from a table as a file");
  cmd->add_option("model", args->model, "Model file")->required();
  cmd->add_option("data", args->data, "A table of any size, or data:NAME")->required();
  cmd->add_option("-o,--out", args->out, "Where to write the features")->required();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(R"(
predict, audit and explain take the file instead of DATA (and explain instead of TRAIN), with this
model and every repair of it. The file is mapped, so its rows need not fit into memory, and the
table is not parsed again. It holds features, labels, weights and attributes of every row: protect
it like the table.

Examples
  fmd features income.safetensors train.csv -o train.features
  fmd explain income.safetensors test.csv --train train.features -o influence.csv)");
  on_run(*cmd, [args] { return run_features(*args); });
}

}  // namespace fmd::cli
