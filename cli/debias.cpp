#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "cli/signature.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/save_debias.h"

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

// --attribute names what is repaired. The task's other attributes are still measured.
DebiasOptions complete_options(const DebiasArgs& args, Model& model, const Exec& exec) {
  args.options_flags.apply();
  DebiasOptions options = args.options;
  Task& task = model.task;
  const auto asked = args.flags.attributes.value_or(std::vector<std::string>{});
  for (const std::string& text : asked)
    options.repair.push_back(parse_attribute(text).name);
  TaskOverrides flags = args.flags;
  flags.attributes.reset();
  apply_task(model, args.common, flags, args.data, exec);
  for (const std::string& name : asked) {
    if (task.find(parse_attribute(name).name) != nullptr) continue;
    TaskOverrides more;
    more.attributes.emplace();
    for (const AttributeSpec& spec : task.attributes) more.attributes->push_back(spec.name);
    more.attributes->push_back(name);
    task = merge(task, more);
  }
  return options;
}

// Files that cannot be written are an error before the work, not after it.
void require_writable(const DebiasArgs& args, const DebiasFiles& names) {
  recover(names.out);
  if (std::filesystem::exists(args.out) &&
      std::filesystem::equivalent(args.out, args.model)) {
    throw Error(ErrorKind::output_exists,
                fmt::format("debias: OUT {} is the model itself", args.out),
                "a model is never overwritten: write to another name");
  }
  OutputFiles check({.force = args.force});
  for (const auto* path :
       {&names.path_tensors, &names.path, &names.undo, &names.receipt, &names.out})
    check.reserve(*path);
  if (!args.sign.empty()) check.reserve(signature_of(names.receipt));
}

void read_tables(const DebiasArgs& args, DebiasInput& input) {
  const auto read = [&](const std::string& file, std::string& sha256) {
    sha256 = file_sha256(file);
    return read_for(input.model, input.model.task, file, args.groups);
  };
  input.data = read(args.data, input.data_sha256);
  if (!args.holdout.empty()) input.holdout = read(args.holdout, input.holdout_sha256);
  if (!args.train.empty()) input.train = read(args.train, input.train_sha256);
  if (!args.test.empty()) input.test = read(args.test, input.test_sha256);
  if (!args.groups.file.empty())
    input.groups = {args.groups.file, file_sha256(args.groups.file), args.groups.key};
}

int run_debias(const DebiasArgs& args) {
  const Session session(args.common);
  const DebiasFiles names(args.out);
  require_writable(args, names);
  require_signing(args.sign);
  const std::unique_ptr<ModelFile> original = open_file(args.common, args.model);
  DebiasInput input;
  input.model = original->model();
  input.model_name = std::filesystem::path(args.model).filename().string();
  DebiasOptions options = complete_options(args, input.model, session.exec());
  input.inputs = {args.common.images};
  set_task(input.model, input.model.task, input.inputs);
  options.layers = parse_layers(args.layers, input.model);
  read_tables(args, input);

  const auto looks =
      note_look(args.ledger, "debias", args.test.empty() ? args.data : args.test,
                args.model, session.exec());
  const DebiasRun run(std::move(input), options, session.exec());
  RunNote note{.date = now_utc(),
               .seconds = session.seconds(),
               .cpu_seconds = Session::cpu_seconds()};
  if (!run.found()) {
    const DebiasReport report = run.measure(run.model());
    print(args.common.json ? receipt_json(report, note) : screen(sheet_of(report)));
    return 1;
  }
  const DebiasReport report = save_debias(
      run, *original, args.out, {.force = args.force, .run = note, .ledger = looks});
  if (!args.sign.empty()) sign_file(names.receipt, args.sign, args.force);
  if (report.optimistic)
    say("fmd: warning: rows were used in training or stand in two of the tables, so the "
        "figures look better than they are (optimistic and overlaps in the receipt)");
  if (args.common.json) {
    print(std::string(FileView::open(names.receipt).text()));
  } else {
    print(screen(sheet_of(report)));
    print(
        fmt::format("\nfiles  {0}\n       and beside it .receipt.json, .undo, .path.json, "
                    ".path.safetensors\ncheck  fmd verify {0}.receipt.json\nback   fmd "
                    "undo {0}.receipt.json -o MODEL\n{1:.1f} s, seed {2}\n",
                    safe_text(args.out), session.seconds(), args.common.seed));
  }
  return 0;
}

constexpr const char* kDebiasFooter = R"(
The edit is computed from 80 % of DATA. The other 20 % choose among the candidates. --test is used
for the report only. --attribute names the attributes to repair. When it is left out, every
attribute that the model reads is repaired. The task's other attributes are measured too. When no
candidate meets the rule, nothing is written and the exit code is 1. step, remove and replace are
Newton steps by the paper's equations 9, 7 and 8. --scale as-printed overshoots by about the number
of rows.

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
  cmd.add_option("--holdout", args.holdout,
                 "Rows to choose the candidate on, instead of 20 % of DATA");
  cmd.add_option("--sign", args.sign,
                 "Sign the receipt with this SSH key: OUT.receipt.json.sig (needs "
                 "ssh-keygen)");
  cmd.add_flag("--force", args.force, "Replace OUT and its receipt if they exist");
}

void add_options(CLI::App& cmd, FieldFlags& flags) {
  CLI::Option* target = flags.add(cmd, "target");
  flags.add(cmd, "max_accuracy_loss")->excludes(target);
  for (const char* name : {"at", "best_effort", "keep_rate", "replicates"})
    flags.add(cmd, name);
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
  add_options(*cmd, args->options_flags);
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_rows_option(*cmd, args->common);
  add_ledger_option(*cmd, args->ledger);
  add_common(*cmd, args->common);
  cmd->footer(kDebiasFooter);
  on_run(*cmd, [args] { return run_debias(*args); });
}

}  // namespace fmd::cli
