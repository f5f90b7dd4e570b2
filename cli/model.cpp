#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/describe_model.h"

namespace fmd::cli {
namespace {

struct ModelArgs {
  Common common;
  std::string model;
};

int run_model(const ModelArgs& args) {
  const std::unique_ptr<ModelFile> file = open_model_file(args.model, formats(args.common));
  const ModelNote note = describe_model(*file);
  print(args.common.json ? to_json(note) : screen(sheet_of(note)));
  return 0;
}

}  // namespace

void add_model(CLI::App& app) {
  auto args = std::make_shared<ModelArgs>();
  auto* cmd = app.add_subcommand(
      "model", "Show what a model file holds: inputs, sizes, and what a repair can change");
  cmd->add_option("model", args->model, "Model file")->required();
  add_formats_options(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer("\nExamples\n  fmd model income.safetensors\n  fmd model model.json --json");
  on_run(*cmd, [args] { return run_model(*args); });
}

}  // namespace fmd::cli
