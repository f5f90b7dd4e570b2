#include "fmd/pipeline/debias.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "cli/signature.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/receipt.h"

namespace fmd::cli {
namespace {

struct DebiasArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, out, holdout, train, test, layers = "1", sign, ledger;
  DebiasOptions options;
  FieldFlags options_flags{fields(options)};
  bool force = false;
};

int run_debias(const DebiasArgs& args) {
  const Session session(args.common);
  args.options_flags.apply();
  DebiasOptions options = args.options;
  const auto rows = [&](const std::string& file) -> std::optional<DataSource> {
    if (file.empty()) return std::nullopt;
    return data_source(file, args.groups);
  };
  options.holdout = rows(args.holdout);
  options.train = rows(args.train);
  options.test = rows(args.test);
  options.task = task_changes(args.common, args.flags);
  const auto model = open_file(args.common, args.model);
  options.layers = parse_layers(args.layers, model->model());
  options.save = {.out = args.out,
                  .force = args.force,
                  .date = now_utc(),
                  .formats = formats(args.common)};
  const std::filesystem::path receipt = DebiasFiles(args.out).receipt;
  require_signing(args.sign);
  // Refused before the work, not after it.
  if (!args.sign.empty()) OutputFiles({.force = args.force}).reserve(signature_of(receipt));
  options.save.ledger =
      note_look(args.ledger, "debias", args.test.empty() ? args.data : args.test,
                args.model, session.exec());
  const Repair repair =
      debias(*model, data_source(args.data, args.groups), options, session.exec());
  const DebiasReport& report = repair.report;
  if (!repair.found()) {
    print(args.common.json ? receipt_json(report, repair.run) : screen(sheet_of(report)));
    return report.small_bias.empty() ? 1 : 0;
  }
  if (!args.sign.empty()) sign_file(receipt, args.sign, args.force);
  if (report.optimistic)
    say("fmd: warning: rows were used in training or stand in two of the tables, so the "
        "figures look better than they are (optimistic and overlaps in the receipt)");
  if (args.common.json) {
    print(std::string(FileView::open(receipt).text()));
  } else {
    print(screen(sheet_of(report)));
    print(
        fmt::format("\nfiles  {0}\n       and beside it .receipt.json, .undo, .path.json, "
                    ".path.safetensors\ncheck  fmd verify {0}.receipt.json\nback   fmd "
                    "undo {0}.receipt.json -o MODEL\n{1:.1f} s, seed {2}\n",
                    safe_text(args.out), session.seconds(), args.common.seed));
  }
  if (args.options.best_effort) return 0;  // the rule is not insisted on
  if (report.on_test == Verdict::fail) return 1;
  const bool reused = report.test_seen && report.on_test == Verdict::unclear;
  const bool hollow = !report.mirrors_left.empty();
  return report.budget == Budget::not_proven || reused || hollow ? 3 : 0;
}

constexpr const char* kDebiasFooter = R"(
The edit is computed from all of DATA. The choice among the candidates is made by cross-fitting:
each fifth of DATA judges what is computed from the rest. The accuracy may fall by
--max-accuracy-loss at most, with a chance of --risk to be wrong. When DATA is too small to prove
that, the candidate whose measured loss keeps the budget is written, the screen says "budget not
proven", and the exit code is 3; so do rows that were used in training. --test is used for the report only; a rule that is missed there
gives exit code 1. With --best-effort a file that is written always gives exit code 0. --attribute
names the attributes to repair. When it is left out, every attribute that the model reads is
repaired. The task's other attributes are measured too. When no candidate meets the rule, nothing is
written and the exit code is 1. step, remove and replace are Newton steps by the paper's equations
9, 7 and 8. --scale as-printed overshoots by about the number of rows.

Examples
  fmd debias income.safetensors repair.csv --attribute sex --test test.csv -o repaired.safetensors
  fmd debias income.safetensors repair.csv --target co=.005 --train train.csv -o repaired.safetensors
  fmd debias income.safetensors repair.csv --method remove --rows 100 --train train.csv -o less.safetensors
  fmd debias income.safetensors repair.csv --attribute race --pairs match -o repaired.safetensors
  fmd debias network.safetensors repair.csv --attribute sex --layers all -o repaired.safetensors
  fmd verify repaired.safetensors.receipt.json
  fmd undo repaired.safetensors.receipt.json -o income.safetensors)";

void add_files(CLI::App& cmd, DebiasArgs& args) {
  cmd.add_option("model", args.model, "Model to repair (never overwritten)")->required();
  cmd.add_option("data", args.data, "Labelled rows that the model was not trained on")
      ->required();
  cmd.add_option("-o,--out", args.out, "Where to write the new model")->required();
  cmd.add_option("--train", args.train,
                 "Training rows: for the curvature, for remove and replace, and for the "
                 "control that is retrained without the column");
  cmd.add_option("--test", args.test, "Rows that are used for the report only");
  cmd.add_flag("--force", args.force, "Replace OUT and its receipt if they exist");
}

void add_options(CLI::App& cmd, DebiasArgs& args) {
  FieldFlags& flags = args.options_flags;
  CLI::Option* target = flags.add(cmd, "target");
  flags.add(cmd, "max_accuracy_loss")->excludes(target);
  {
    const Topic topic(cmd, "Choice");
    cmd.add_option("--holdout", args.holdout,
                   "Rows to choose the candidate on, instead of cross-fitting");
    for (const char* name : {"only_if_over", "risk", "strict", "folds", "at", "best_effort",
                             "may_use_attribute", "keep_rate", "polish", "monotone",
                             "allow_nonmonotone", "replicates"})
      flags.add(cmd, name);
  }
  {
    const Topic topic(cmd, "Records");
    cmd.add_option("--sign", args.sign,
                   "Sign the receipt with this SSH key: OUT.receipt.json.sig (needs "
                   "ssh-keygen)");
    add_ledger_option(cmd, args.ledger);
  }
  {
    const Topic topic(cmd, "Method solve");
    for (const char* name : {"points", "anchor", "fit", "mu", "optimizer", "gaps"})
      flags.add(cmd, name);
  }
  const Topic topic(cmd, "Methods step, remove and replace");
  for (const char* name : {"scale", "rows", "refresh", "hessian", "solver"})
    flags.add(cmd, name);
}

}  // namespace

void add_debias(CLI::App& app) {
  auto args = std::make_shared<DebiasArgs>();
  auto* cmd =
      app.add_subcommand("debias", "Remove a measured bias and write the new model");
  add_files(*cmd, *args);
  args->options_flags.add(*cmd, "method");
  cmd->add_option("--layers", args->layers,
                  "Networks: how many top layers are changed (a number or all); the layers "
                  "below stay fixed")
      ->capture_default_str();
  add_options(*cmd, *args);
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_rows_option(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(kDebiasFooter);
  on_run(*cmd, [args] { return run_debias(*args); });
}

}  // namespace fmd::cli
