#include "fmd/pipeline/verify.h"

#include "cli/commands.h"

namespace fmd::cli {
namespace {

struct VerifyArgs {
  Common common;
  std::string receipt;
  VerifyOptions options;
};

int run_verify(const VerifyArgs& args) {
  const Session session(args.common);
  VerifyOptions options = args.options;
  options.data_folder = data_folder();
  options.inputs.images = args.common.images;
  options.formats = formats(args.common);
  const VerifyReport report = verify(args.receipt, options, session.exec());
  print(args.common.json ? to_json(report) : screen(sheet_of(report)));
  return report.exit_code();
}

}  // namespace

void add_verify(CLI::App& app) {
  auto args = std::make_shared<VerifyArgs>();
  auto& o = args->options;
  auto* cmd = app.add_subcommand("verify", "Recompute what a receipt claims");
  cmd->add_option("receipt", args->receipt,
                  "OUT.receipt.json, with OUT and OUT.undo beside it")
      ->required();
  cmd->add_option(
         "--data", o.data,
         "A table of the repair that is not found under its recorded name; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("--train", o.train, "The training rows of the repair");
  cmd->add_option("--test", o.test, "The test rows of the repair");
  cmd->add_option("--tolerance", o.tolerance,
                  "Largest difference that is accepted, relative to max(1, size)")
      ->capture_default_str();
  add_inputs_options(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(R"(
Checks the checksums of the model, of the original that the undo file restores and of every table.
Repeats the repair from the recorded options and seed, and measures every figure again. Tables are
searched by their recorded names: under the name itself, beside the receipt and in the current
folder. --seed and --task are not used: the receipt has them. Exit 0: everything that could be
checked agrees; 1: something differs; 3: only checksums could be checked.

Examples
  fmd verify repaired.safetensors.receipt.json
  fmd verify repaired.safetensors.receipt.json --data repair.csv --train train.csv --test test.csv)");
  on_run(*cmd, [args] { return run_verify(*args); });
}

}  // namespace fmd::cli
