#include "fmd/pipeline/verify.h"

#include "cli/commands.h"
#include "cli/signature.h"
#include "fmd/core/error.h"
#include "fmd/pipeline/lm_verify.h"
#include "fmd/pipeline/verify_audit.h"

namespace fmd::cli {
namespace {

struct VerifyArgs {
  Common common;
  std::string receipt;
  VerifyOptions options;
  Signer signer;
};

int run_verify(const VerifyArgs& args) {
  const Session session(args.common);
  VerifyOptions options = args.options;
  options.data_folder = data_folder();
  options.inputs = input_files(args.common);
  options.formats = formats(args.common);
  if (args.signer.allowed.empty() != args.signer.name.empty())
    throw Error(ErrorKind::bad_option, "verify: --allowed-signers and --signer go together",
                "--allowed-signers FILE --signer NAME, where FILE has a line \"NAME KEY\"");
  const bool audited = is_audit(args.receipt);
  const bool language = !audited && is_lm_receipt(args.receipt);
  if (!audited && !language && !options.model.empty())
    throw Error(ErrorKind::bad_option, "verify: --model is for audits and language models",
                "OUT stands beside its receipt: leave --model out");
  VerifyReport report = audited    ? verify_audit(args.receipt, options, session.exec())
                        : language ? lm_verify(args.receipt, options, session.exec())
                                   : verify(args.receipt, options, session.exec());
  if (!args.signer.allowed.empty() || std::filesystem::exists(signature_of(args.receipt)))
    report.checks.push_back(check_signature(args.receipt, args.signer));
  print(args.common.json ? to_json(report) : screen(sheet_of(report)));
  return report.exit_code();
}

}  // namespace

void add_verify(CLI::App& app) {
  auto args = std::make_shared<VerifyArgs>();
  auto& o = args->options;
  auto* cmd = app.add_subcommand("verify", "Recompute what a receipt or an audit claims");
  cmd->add_option("receipt", args->receipt,
                  "OUT.receipt.json, with OUT and OUT.undo beside it; or the JSON of an "
                  "audit")
      ->required();
  cmd->add_option(
         "--data", o.data,
         "A table of the repair that is not found under its recorded name; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option(
      "--model", o.model,
      "The model of an audit, if it is elsewhere; of `fmd lm debias`: the original "
      "folder, to make the edit again");
  cmd->add_option("--train", o.train, "The training rows of the repair");
  cmd->add_option("--test", o.test, "The test rows of the repair");
  cmd->add_option("--tolerance", o.tolerance,
                  "Largest difference that is accepted, relative to max(1, size)")
      ->capture_default_str();
  cmd->add_option("--allowed-signers", args->signer.allowed,
                  "Who may sign: a file with a name and a public key in each line");
  cmd->add_option("--signer", args->signer.name,
                  "Who must have signed, by the name in --allowed-signers");
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
  fmd verify audit.json --model income.safetensors --data test.csv
  fmd verify repaired.safetensors.receipt.json --data repair.csv --train train.csv --test test.csv)");
  on_run(*cmd, [args] { return run_verify(*args); });
}

}  // namespace fmd::cli
