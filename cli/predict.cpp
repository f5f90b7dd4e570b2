#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/study_stream.h"

namespace fmd::cli {
namespace {

struct PredictArgs {
  Common common;
  TaskOverrides flags;
  std::string model, data, out;
  bool force = false, guard = false;
};

std::string header(const Task& task) {
  std::string text = "row,predicted";
  for (const std::string& name : task.classes) text += "," + csv_cell("p_" + name);
  return text + "\n";
}

std::string lines(const Task& task, const Study& block, const Scored& scored,
                  CsvGuard guard) {
  const Matrix& p = scored.p;
  std::vector<std::string> answers;
  for (const std::string& name : task.classes) answers.push_back(csv_cell(name, guard));
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  for (Index i = 0; i < p.rows(); ++i) {
    const auto k = static_cast<std::size_t>(scored.decision[static_cast<std::size_t>(i)]);
    fmt::format_to(out, "{},{}", block.first + i + 1, answers[k]);
    for (Index c = 0; c < p.cols(); ++c) fmt::format_to(out, ",{}", p(i, c));
    fmt::format_to(out, "\n");
  }
  return fmt::to_string(text);
}

int run_predict(const PredictArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force, .standard = standard_output(args.common)});
  if (!args.out.empty()) files.reserve(args.out);
  Model model = open_model(args.model);
  apply_task(model, args.common, args.flags, args.data, session.exec());
  Task inputs = model.task;  // labels and attributes are not needed
  inputs.label.clear();
  inputs.attributes.clear();
  StudyStream stream(model, inputs, DataSource::file(args.data, data_folder()),
                     {.survey = false}, session.exec());
  const auto put = [&](const std::string& text) {
    if (args.out.empty()) {
      print(text);
    } else {
      files.append(args.out, text);
    }
  };
  Index rows = 0;
  for (Study block; stream.next(block, "scoring"); rows += block.size()) {
    const Scored scored = score(model, block, {}, session.exec());
    if (rows == 0) put(header(model.task));
    put(lines(model.task, block, scored, args.guard ? CsvGuard::formulas : CsvGuard::none));
  }
  if (args.out.empty()) return 0;
  files.commit();
  if (args.common.json) {
    print(nlohmann::ordered_json{
        {"schema", 1}, {"command", "predict"}, {"rows", rows}, {"out", args.out}});
  } else {
    say(fmt::format("wrote {}, {} rows", args.out, rows));
  }
  return 0;
}

}  // namespace

void add_predict(CLI::App& app) {
  auto args = std::make_shared<PredictArgs>();
  auto* cmd = app.add_subcommand(
      "predict", "Write the scores of a model as CSV: row, predicted, p_<class>");
  cmd->add_option("model", args->model, "Model file")->required();
  cmd->add_option("data", args->data,
                  "A table of any size, a file of features, or data:NAME")
      ->required();
  cmd->add_option("-o,--out", args->out, "Where to write the scores; without -o, stdout");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_guard(*cmd, args->guard);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer("\nExample\n  fmd predict income.safetensors test.csv -o scores.csv");
  on_run(*cmd, [args] { return run_predict(*args); });
}

}  // namespace fmd::cli
