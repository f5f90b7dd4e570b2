#include "fmd/pipeline/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/training_data.h"
#include "fmd/report/columns_report.h"

namespace fmd::cli {
namespace {

struct CompareArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string data, model, train, out, split_out;
  std::vector<std::string> scores, pair_scores;
  CompareOptions options;
  FieldFlags options_flags{fields(options)};
  bool force = false;
};

// Without a model: the task of a data set by name, or label and classes of the table.
void read_table_and_task(const CompareArgs& args, const Exec& exec, CompareInput& input) {
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  // A rare category may have no training row.
  TrainingData data =
      read_training(args.data, file, args.flags,
                    {.command = "compare", .unseen = Unseen::bucket}, data_folder(), exec);
  fmt::print(stderr, "{}", warning_lines(data.columns));
  input.data = std::move(data.table);
  input.task = std::move(data.task);
}

CompareInput read_input(const CompareArgs& args, const Exec& exec) {
  CompareInput input;
  input.data_sha256 = file_sha256(args.data);
  if (args.model.empty()) {
    if (!args.train.empty()) {
      throw Error(ErrorKind::bad_option, "--train needs --model",
                  "without a model the training rows are a part of DATA");
    }
    read_table_and_task(args, exec, input);
    return input;
  }
  Model model = open_file(args.common, args.model)->model();
  input.model_name = std::filesystem::path(args.model).filename().string();
  input.model_sha256 = file_sha256(args.model);
  apply_task(model, args.common, args.flags, args.data, exec);
  input.data = read_for(model, model.task, args.data, args.groups, exec);
  if (!args.train.empty())
    input.train = read_for(model, model.task, args.train, args.groups, exec);
  input.task = model.task;
  input.model = std::move(model);
  return input;
}

struct NamedFile {
  std::string name, file;
};

NamedFile named_file(const std::string& flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(ErrorKind::bad_option,
                fmt::format("{} {}: a name and a file are needed", flag, text),
                fmt::format("write {} NAME=FILE", flag));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void read_outside(const CompareArgs& args, CompareInput& input) {
  for (const std::string& text : args.scores) {
    const NamedFile scores = named_file("--with-scores", text);
    input.outside.push_back({scores.name, read_data(scores.file)});
  }
  for (const std::string& text : args.pair_scores) {
    const NamedFile pairs = named_file("--with-pair-scores", text);
    const auto owner =
        std::find_if(input.outside.begin(), input.outside.end(),
                     [&](const OutsideScores& o) { return o.name == pairs.name; });
    if (owner == input.outside.end()) {
      throw Error(
          ErrorKind::bad_option,
          fmt::format("--with-pair-scores {}: no --with-scores has this name", pairs.name),
          fmt::format("add --with-scores {}=FILE", pairs.name));
    }
    owner->pairs = read_data(pairs.file);
  }
}

std::string split_csv(const std::vector<std::string>& parts) {
  std::string csv = "row,part\n";
  for (std::size_t i = 0; i < parts.size(); ++i)
    csv += fmt::format("{},{}\n", i + 1, parts[i]);
  return csv;
}

int run_compare(const CompareArgs& args) {
  const Session session(args.common);
  args.options_flags.apply();
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  if (!args.split_out.empty()) files.reserve(args.split_out);
  CompareOptions options = args.options;
  const auto asked = args.flags.attributes.value_or(std::vector<std::string>{});
  if (asked.size() > 1) {
    throw Error(ErrorKind::bad_option, "compare: one attribute at a time",
                "give --attribute once");
  }
  if (!asked.empty()) options.attribute = parse_attribute(asked[0]).name;
  CompareInput input = read_input(args, session.exec());
  read_outside(args, input);
  const CompareReport report = compare(input, options, session.exec());
  const RunNote note{.date = now_utc(),
                     .seconds = session.seconds(),
                     .cpu_seconds = Session::cpu_seconds()};
  const std::string json = compare_json(report, note);
  if (!args.split_out.empty())
    files.write(args.split_out,
                split_csv(compare_parts(input, options, session.exec().seed)));
  if (!args.out.empty()) files.write(args.out, json);
  files.commit();
  print(args.common.json ? json : screen(sheet_of(report)));
  if (!args.common.json && !args.out.empty())
    print_line(fmt::format("wrote  {}", args.out));
  return 0;
}

constexpr const char* kCompareFooter = R"(
Examples
  fmd compare data:adult --attribute sex -o compare.json
  fmd compare loans.csv --label deny --favorable no --attribute race \
      --methods solve,eqodd,reject,group-thresholds
  fmd compare repair.csv --model income.safetensors --train train.csv)";

}  // namespace

void add_compare(CLI::App& app) {
  auto args = std::make_shared<CompareArgs>();
  auto* cmd = app.add_subcommand(
      "compare", "Compare all methods on the same rows: figures, intervals, times, needs");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  cmd->add_option(
      "--model", args->model,
      "Compare repairs of this model; without --model, one is trained on a part of DATA");
  cmd->add_option("--train", args->train, "Rows that --model was trained on");
  for (const char* name : {"methods", "measure", "max_accuracy_loss", "parts"})
    args->options_flags.add(*cmd, name);
  cmd->add_option("--with-scores", args->scores,
                  "NAME=FILE: scores of another program; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("--with-pair-scores", args->pair_scores,
                  "NAME=FILE: that program's scores of the rows that fmd pairs made, for "
                  "the flip gap")
      ->allow_extra_args(false);
  cmd->add_option("--split-out", args->split_out,
                  "Where to write which part each row is in");
  cmd->add_option("-o,--out", args->out, "Where to write the JSON report");
  cmd->add_flag("--force", args->force, "Replace files that exist");
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_rows_option(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(kCompareFooter);
  on_run(*cmd, [args] { return run_compare(*args); });
}

}  // namespace fmd::cli
