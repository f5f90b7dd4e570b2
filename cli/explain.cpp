#include "fmd/pipeline/explain.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/contact_sheet.h"

namespace fmd::cli {
namespace {

struct ExplainArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, train, out, layers = "1", sheet;
  Index sheet_count = 20;
  ExplainOptions options;
  FieldFlags options_flags{fields(options)};
  bool force = false, guard = false;
};

// Which images the contact sheet shows, in its order.
void print_sheet(const ExplainArgs& args, const ContactSheet& sheet) {
  if (args.sheet.empty()) return;
  print(fmt::format("\nsheet  {}, for the first measure\n", safe_text(args.sheet)));
  const auto list = [](const char* words, const std::vector<std::string>& names) {
    print(fmt::format("{} {}:\n", names.size(), words));
    for (const std::string& name : names) print(fmt::format("  {}\n", safe_text(name)));
  };
  list("in red, left out they would lower the gap most", sheet.harmful);
  list("in blue, left out they would raise it most", sheet.helpful);
}

int run_explain(const ExplainArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  if (!args.sheet.empty()) files.reserve(args.sheet);
  args.options_flags.apply();
  ExplainOptions options = args.options;
  options.task = task_changes(args.common, args.flags);
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
  }
  ContactSheet sheet;
  if (!args.sheet.empty()) {
    sheet = contact_sheet(explained, args.common.images, args.sheet_count, session.exec());
    files.write(args.sheet, sheet.png);
  }
  files.commit();
  if (report.other_rows())
    say(fmt::format("fmd: warning: {} of the {} rows of {} are not known from training",
                    report.train_rows - report.known, report.train_rows, report.train));
  if (args.common.json) {
    ExplainReport noted = report;
    noted.notes = session.notes();
    print(to_json(noted));
    return 0;
  }
  print(screen(sheet_of(report)));
  if (!args.out.empty())
    print(fmt::format("\nfiles  {}: every training row\n", safe_text(args.out)));
  print_sheet(args, sheet);
  print(fmt::format("{:.1f} s, seed {}\n", session.seconds(), args.common.seed));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app) {
  auto args = std::make_shared<ExplainArgs>();
  FieldFlags& flags = args->options_flags;
  auto* cmd =
      app.add_subcommand("explain", "Show which training rows a measured bias comes from");
  cmd->add_option("model", args->model, "Model file")->required();
  cmd->add_option(
         "data", args->data,
         "Labelled rows that the bias is measured on: a table, or a file of features")
      ->required();
  cmd->add_option("--train", args->train, "The rows that the model was trained on")
      ->required();
  flags.add(*cmd, "measures");
  cmd->add_option("-o,--out", args->out,
                  "Where to write the change of every training row, as CSV");
  flags.add(*cmd, "check")->type_name("K");
  cmd->add_option("--layers", args->layers,
                  "Networks: how many top layers are explained (a number or all); the "
                  "layers below stay fixed")
      ->capture_default_str();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  {
    const Topic topic(*cmd, "How it is computed");
    for (const char* name :
         {"hessian", "solver", "damping", "tolerance", "eta", "lambda", "cache", "spill"})
      flags.add(*cmd, name);
  }
  {
    const Topic topic(*cmd, "Output");
    cmd->add_option("--sheet", args->sheet,
                    "Models of images: a PNG file of the most harmful and helpful images");
    cmd->add_option("--sheet-images", args->sheet_count, "How many of each")
        ->check(CLI::Range(Index{1}, Index{1000}))
        ->capture_default_str();
    add_guard(*cmd, args->guard);
  }
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
