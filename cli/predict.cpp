#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"
#include "fmd/metrics/scored.h"

namespace fmd::cli {
namespace {

struct Args {
  Common common;
  TaskOverrides flags;
  std::string model, data, out;
  bool force = false;
};

int run(const Args& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  Model model = open_model(args.model);
  model.task = effective_task(model.task, args.common, args.flags);
  const Table table = read_for(model, model.task, args.data, {});
  const auto X = model.backbone->features(table, {}, session.exec());
  const Rows rows{.X = X.get(), .y = {}, .weight = {}, .subset = {}};
  const Matrix p = all_probabilities(*model.head, rows, model.theta, session.exec());
  const std::vector<std::int32_t> decision = decide(p, model.task.threshold);

  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "row,predicted");
  for (const std::string& name : model.task.classes) fmt::format_to(out, ",{}", csv_cell("p_" + name));
  fmt::format_to(out, "\n");
  for (Index i = 0; i < p.rows(); ++i) {
    const auto k = static_cast<std::size_t>(decision[static_cast<std::size_t>(i)]);
    fmt::format_to(out, "{},{}", i + 1, csv_cell(model.task.classes[k]));
    for (Index c = 0; c < p.cols(); ++c) fmt::format_to(out, ",{}", p(i, c));
    fmt::format_to(out, "\n");
  }
  if (args.out.empty()) {
    print(fmt::to_string(text));
    return 0;
  }
  files.write(args.out, fmt::to_string(text));
  files.commit();
  if (args.common.json) {
    print(nlohmann::ordered_json{{"schema", 1}, {"command", "predict"}, {"rows", p.rows()},
                                 {"out", args.out}}.dump(2) + "\n");
  } else {
    say(fmt::format("wrote {}, {} rows", args.out, p.rows()));
  }
  return 0;
}

}  // namespace

void add_predict(CLI::App& app) {
  auto args = std::make_shared<Args>();
  auto* cmd = app.add_subcommand("predict", "Scores of a model as CSV: row, predicted, p_<class>");
  cmd->add_option("model", args->model, "Model file")->required();
  cmd->add_option("data", args->data, "CSV file (also .gz), or data:NAME")->required();
  cmd->add_option("-o,--out", args->out, "Where to write the scores; stdout when left out");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_task_options(*cmd, args->flags);
  add_common(*cmd, args->common);
  cmd->footer("\nExample\n  fmd predict income.safetensors test.csv -o scores.csv");
  on_run(*cmd, [args] { return run(*args); });
}

}  // namespace fmd::cli
