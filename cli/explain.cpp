#include "fmd/pipeline/explain.h"

#include <unistd.h>

#include <fmt/format.h>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/formats/model_file.h"
#include "fmd/model/cut.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd::cli {
namespace {

struct ExplainArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, train, out, solver = "auto", hessian = "train", cache,
                                       layers = "1";
  ExplainOptions options;
  bool spill = false, force = false;
};

// Features of a larger table do not belong in memory.
bool is_large(const std::string& name) {
  constexpr std::uintmax_t kLargeFile = 256 << 20;
  std::error_code absent;
  return std::filesystem::file_size(name, absent) > kLargeFile && !absent;
}

// Beside OUT, where there should be room, or in the folder for temporary files.
std::string spill_file(const std::string& out, const std::string& role) {
  if (!out.empty()) return fmt::format("{}.{}-features", out, role);
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  return folder / fmt::format("fmd-{}.{}-features", ::getpid(), role);
}

int run_explain(const ExplainArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  ExplainOptions options = args.options;
  options.solver = parse_solver(args.solver);
  options.hessian_on_data = args.hessian == "data";
  options.cache = args.cache;
  Model model = open_model(args.model);
  model.task = effective_task(model.task, args.common, args.flags);
  const std::size_t all_layers = model.head->widths().size() - 1;
  const Index layers = parse_layers(args.layers, model);
  model = cut_layers(model, layers);
  const bool above = model.head->widths().size() - 1 < all_layers;
  if (above)
    say(
        fmt::format("fmd: the top {} of {} layers are explained; the effect of the rows on "
                    "the layers below is left out",
                    layers, all_layers));
  OutputFiles spills({.force = true});
  const auto read = [&](const std::string& name, const std::string& role) {
    // A spill file holds the encoder's features. Above frozen layers the head reads other
    // features.
    const bool spill = !above && (args.spill || is_large(name));
    return whole_study(model, model.task, name,
                       {.groups = args.groups,
                        .data_folder = data_folder(),
                        .need_labels = true,
                        .weights = role == "train"},
                       spills, spill ? spill_file(args.out, role) : "", session.exec());
  };
  const Study data = read(args.data, "data");
  Explanation explained =
      explain(model, data, read(args.train, "train"), options, session.exec());
  ExplainReport& report = explained.report;
  report.model = std::filesystem::path(args.model).filename().string();
  report.model_sha256 = file_sha256(args.model);
  report.data_sha256 = file_sha256(args.data);
  report.train_sha256 = file_sha256(args.train);
  if (!args.out.empty()) {
    explained.write_csv([&](std::string_view text) { files.append(args.out, text); },
                        session.exec());
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
  if (!args.out.empty()) print(fmt::format("\nfiles  {}: every training row\n", args.out));
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
  cmd->add_option("--cache", args->cache,
                  "Folder that keeps factors of H for the next run on the same rows");
  cmd->add_flag(
      "--spill", args->spill,
      "Keep features in a temporary file instead of memory (always for files over 256 MB)");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
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
