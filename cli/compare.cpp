#include "fmd/pipeline/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/report/columns_report.h"

namespace fmd::cli {
namespace {

struct CompareArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string data, model, train, out, split_out, checkpoints;
  std::vector<std::string> scores, pair_scores;
  CompareOptions options;
  FieldFlags options_flags{fields(options)};
  bool force = false;
};

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

std::vector<OutsideScores> outside_scores(const CompareArgs& args) {
  std::vector<OutsideScores> all;
  for (const std::string& text : args.scores) {
    const NamedFile scores = named_file("--with-scores", text);
    all.push_back({scores.name, data_source(scores.file)});
  }
  for (const std::string& text : args.pair_scores) {
    const NamedFile pairs = named_file("--with-pair-scores", text);
    const auto owner = std::find_if(all.begin(), all.end(), [&](const OutsideScores& o) {
      return o.name == pairs.name;
    });
    if (owner == all.end()) {
      throw Error(
          ErrorKind::bad_option,
          fmt::format("--with-pair-scores {}: no --with-scores has this name", pairs.name),
          fmt::format("add --with-scores {}=FILE", pairs.name));
    }
    owner->pairs = data_source(pairs.file);
  }
  return all;
}

std::string split_csv(const std::vector<std::string>& parts) {
  std::string csv = "row,part\n";
  for (std::size_t i = 0; i < parts.size(); ++i)
    csv += fmt::format("{},{}\n", i + 1, parts[i]);
  return csv;
}

// Made where it is absent.
std::filesystem::path checkpoint_folder(const CompareArgs& args) {
  if (args.checkpoints.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(args.checkpoints, error);
  if (!std::filesystem::is_directory(args.checkpoints, error)) {
    throw Error(
        ErrorKind::cannot_write,
        fmt::format("--checkpoints {}: the folder cannot be made", args.checkpoints),
        "name a folder that you may write to");
  }
  return args.checkpoints;
}

int run_compare(const CompareArgs& args) {
  const Session session(args.common);
  args.options_flags.apply();
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  if (!args.split_out.empty()) files.reserve(args.split_out);
  CompareOptions options = args.options;
  options.task = task_changes(args.common, args.flags);
  options.outside = outside_scores(args);
  options.checkpoints = checkpoint_folder(args);
  if (!args.train.empty()) options.train = data_source(args.train, args.groups);
  const DataSource data = data_source(args.data, args.groups);
  CompareReport report = args.model.empty() ? compare(data, options, session.exec())
                                            : compare(*open_file(args.common, args.model),
                                                      data, options, session.exec());
  report.notes = session.notes();
  fmt::print(stderr, "{}", warning_lines(report.columns));
  const RunNote note{.date = now_utc(),
                     .seconds = session.seconds(),
                     .cpu_seconds = Session::cpu_seconds()};
  const std::string json = compare_json(report, note);
  if (!args.split_out.empty()) files.write(args.split_out, split_csv(report.part_of_row));
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
  fmd compare data:adult --attribute sex --methods plain-network,lff,sensei --checkpoints state
  fmd compare repair.csv --model income.safetensors --train train.csv)";

void add_more_options(CLI::App& cmd, CompareArgs& args) {
  {
    const Topic topic(cmd, "Rule and parts");
    for (const char* name : {"measure", "parts"}) args.options_flags.add(cmd, name);
    cmd.add_option("--split-out", args.split_out,
                   "Where to write which part each row is in");
  }
  const Topic topic(cmd, "Other programs and networks");
  cmd.add_option("--with-scores", args.scores,
                 "NAME=FILE: scores of another program; may be repeated")
      ->allow_extra_args(false);
  cmd.add_option("--with-pair-scores", args.pair_scores,
                 "NAME=FILE: that program's scores of the rows that fmd pairs made, for "
                 "the flip gap")
      ->allow_extra_args(false);
  cmd.add_option("--checkpoints", args.checkpoints,
                 "Folder where methods that train networks leave their state: a run that "
                 "was stopped goes on");
}

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
  for (const char* name : {"methods", "target", "max_accuracy_loss"})
    args->options_flags.add(*cmd, name);
  cmd->add_option("-o,--out", args->out, "Where to write the JSON report");
  cmd->add_flag("--force", args->force, "Replace files that exist");
  add_more_options(*cmd, *args);
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_rows_option(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(kCompareFooter);
  on_run(*cmd, [args] { return run_compare(*args); });
}

}  // namespace fmd::cli
