#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/pipeline/receipt.h"

namespace fmd::cli {
namespace {

struct UndoArgs {
  Common common;
  std::string receipt, out;
  bool force = false;
};

int run_undo(const UndoArgs& args) {
  const std::string sum =
      undo_debias(args.receipt, args.out,
                  {.force = args.force, .standard = standard_output(args.common)});
  if (args.common.json)
    print(nlohmann::ordered_json{
        {"schema", 1}, {"command", "undo"}, {"out", args.out}, {"sha256", sum}});
  else
    say(fmt::format("wrote {}, the model before the repair, byte for byte (sha256 {})",
                    args.out, sum));
  return 0;
}

}  // namespace

void add_undo(CLI::App& app) {
  auto args = std::make_shared<UndoArgs>();
  auto* cmd =
      app.add_subcommand("undo", "Restore the model before a repair, byte for byte");
  cmd->add_option("receipt", args->receipt,
                  "OUT.receipt.json, with OUT and OUT.undo beside it")
      ->required();
  cmd->add_option("-o,--out", args->out, "Where to write the original")->required();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer(
      "\nExample\n  fmd undo repaired.safetensors.receipt.json -o income.safetensors");
  on_run(*cmd, [args] { return run_undo(*args); });
}

}  // namespace fmd::cli
