#include "fmd/pipeline/explain.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/model_file.h"

namespace fmd::cli {
namespace {

struct ExplainArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, train, out, solver = "auto", hessian = "train", cache,
                                       layers = "1";
  ExplainOptions options;
  bool spill = false, force = false, guard = false;
};

int run_explain(const ExplainArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  ExplainOptions options = args.options;
  options.solver = parse_solver(args.solver);
  options.hessian_on_data = args.hessian == "data";
  options.cache = args.cache;
  options.task = task_changes(args.common, args.flags);
  options.spill = args.spill;
  options.beside = args.out;
  const auto model = open_model_file(args.model, formats(args.common));
  options.layers = parse_layers(args.layers, model->model());
  const auto all_layers = std::ssize(model->model().head->widths()) - 1;
  if (options.layers < all_layers)
    say(
        fmt::format("fmd: the top {} of {} layers are explained; the effect of the rows on "
                    "the layers below is left out",
                    options.layers, all_layers));
  const Explanation explained =
      explain(*model, data_source(args.data, args.groups),
              data_source(args.train, args.groups), options, session.exec());
  const ExplainReport& report = explained.report;
  if (!args.out.empty()) {
    explained.write_csv([&](std::string_view text) { files.append(args.out, text); },
                        session.exec(), args.guard ? CsvGuard::formulas : CsvGuard::none);
    files.commit();
  }
  if (report.other_rows())
    say(fmt::format("fmd: warning: {} of the {} rows of {} are not known from training",
                    report.train_rows - report.known, report.train_rows, report.train));
  if (args.common.json) {
    print(to_json(report));
    return 0;
  }
  print(screen(sheet_of(report)));
  if (!args.out.empty())
    print(fmt::format("\nfiles  {}: every training row\n", safe_text(args.out)));
  print(fmt::format("{:.1f} s, seed {}\n", session.seconds(), args.common.seed));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app) {
  auto args = std::make_shared<ExplainArgs>();
  auto& o = args->options;
  auto* cmd =
      app.add_subcommand("explain", "Show which training rows a measured bias comes from");
  cmd->add_option("model", args->model, "Model file")->required();
  cmd->add_option(
         "data", args->data,
         "Labelled rows that the bias is measured on: a table, or a file of features")
      ->required();
  cmd->add_option("--train", args->train, "The rows that the model was trained on")
      ->required();
  cmd->add_option(
         "--measure", o.measures,
         "co, co_tv, demographic_parity_soft, equal_opportunity_soft, false_positive_soft, "
         "loss; NAME:ATTRIBUTE for one attribute; may be repeated")
      ->allow_extra_args(false)
      ->capture_default_str();
  cmd->add_option("-o,--out", args->out,
                  "Where to write the change of every training row, as CSV");
  cmd->add_option("--check", o.check,
                  "Leave out the K strongest rows, refit, and compare with the prediction")
      ->check(CLI::Range(Index{0}, Index{1} << 40))
      ->type_name("K");
  cmd->add_option("--layers", args->layers,
                  "Networks: how many top layers are explained (a number or all); the "
                  "layers below stay fixed")
      ->capture_default_str();
  cmd->add_option("--hessian", args->hessian,
                  "Rows that the curvature is computed from: train or data")
      ->check(CLI::IsMember({"train", "data"}))
      ->capture_default_str();
  cmd->add_option("--solver", args->solver,
                  "Solver for H^-1 v: auto, cholesky, cg, lissa or kfac")
      ->check(CLI::IsMember({"auto", "cholesky", "cg", "lissa", "kfac"}))
      ->capture_default_str();
  cmd->add_option("--damping", o.damping, "Added to the diagonal of H; -1 = by the rule")
      ->capture_default_str();
  cmd->add_option("--tolerance", o.tolerance,
                  "cg: stop at this |H x - b| / |b|; -1 = by the rule")
      ->capture_default_str();
  cmd->add_option("--eta", o.eta,
                  "Boosted trees: learning rate; 0 = solved from the leaf values")
      ->check(CLI::NonNegativeNumber);
  cmd->add_option("--lambda", o.lambda,
                  "Boosted trees: l2 of leaves; -1 = solved from the leaf values")
      ->capture_default_str();
  cmd->add_option("--cache", args->cache,
                  "Folder that keeps factors of H for the next run on the same rows");
  cmd->add_flag(
      "--spill", args->spill,
      "Keep features in a temporary file instead of memory (always for files over 256 MB)");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_guard(*cmd, args->guard);
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(R"(
The change of a training row is the predicted change of the gap when the row is left out. Below 0
the row raises the gap, above 0 the row lowers it. A strong row is not a wrong row.

Examples
  fmd explain income.safetensors test.csv --train train.csv -o influence.csv
  fmd explain income.safetensors test.csv --train train.csv --check 100 \
      --measure co:sex --measure demographic_parity_soft:sex)");
  on_run(*cmd, [args] { return run_explain(*args); });
}

}  // namespace fmd::cli
