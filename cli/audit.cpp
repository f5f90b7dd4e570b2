#include "fmd/pipeline/audit.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/field_flags.h"
#include "cli/gate.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/audit_state.h"
#include "fmd/pipeline/refits.h"
#include "fmd/pipeline/scan.h"
#include "fmd/pipeline/score_files.h"

namespace fmd::cli {
namespace {

struct AuditArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, scores, pair_scores, out, partial, survey, ledger, train;
  Index refits = 0;
  GateArgs gate;
  std::vector<std::string> metrics;
  AuditOptions options{.permutations = 1000};  // where they are shown
  ScanOptions scanned;
  FieldFlags options_flags{fields(options)}, scanned_flags{fields(scanned)};
  bool scan = false;
  bool force = false;
};

// The model to ask: MODEL, or the scores that another program made.
std::unique_ptr<ModelSource> open_source(const AuditArgs& args, const DataSource& data,
                                         const TaskChanges& changes, const Exec& exec) {
  if (args.scores.empty()) return open_file(args.common, args.model);
  std::optional<DataSource> pairs;
  if (!args.pair_scores.empty()) pairs = data_source(args.pair_scores);
  return std::make_unique<ScoresSource>(open_scores(data, std::move(pairs), changes, exec));
}

int run_scan(const AuditArgs& args) {
  const GateArgs& gate = args.gate;
  const bool judged =
      judges(gate) || !gate.previous.empty() || !gate.previous_model.empty();
  if (judged ||
      (!gate.format.empty() && gate.format != "screen" && gate.format != "json")) {
    throw Error(
        ErrorKind::bad_option,
        "audit: --scan looks for suspects; it takes no limits, no previous audit, and "
        "writes screen or json",
        "to judge a column that it finds: fmd audit ... --attribute COLUMN --limit co=.02");
  }
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  const DataSource data =
      data_source(args.scores.empty() ? args.data : args.scores, args.groups);
  const TaskChanges changes = task_changes(args.common, args.flags);
  ScanOptions options = args.scanned;
  const auto model = open_source(args, data, changes, session.exec());
  if (args.scores.empty()) options.task = changes;
  ScanReport report = scan(*model, data, options, session.exec());
  report.notes = session.notes();
  if (!args.out.empty()) {
    files.write(args.out,
                gate.format == "screen" ? screen(sheet_of(report)) : to_json(report));
    files.commit();
  }
  const bool json = args.common.json || (args.out.empty() && gate.format == "json");
  print(json ? to_json(report) : screen(sheet_of(report)));
  return 0;
}

// One part of an audit: its survey, or its count with the merged survey.
int run_part(const AuditArgs& args) {
  const GateArgs& gate = args.gate;
  if (!args.out.empty() || !gate.format.empty() || !gate.previous.empty() ||
      !gate.previous_model.empty() || args.scan) {
    throw Error(ErrorKind::bad_option,
                "audit: a part writes a state alone; fmd merge writes the report",
                "leave -o, --format, --previous and --scan out");
  }
  if (args.options.round > 0) {
    throw Error(ErrorKind::bad_option, "audit: a part holds exact counts",
                "leave --round out");
  }
  if (args.survey.empty()) {
    throw Error(ErrorKind::bad_option, "audit: --partial needs the survey of all parts",
                "write one for each part (fmd audit MODEL PART --survey STATE), merge them "
                "(fmd merge STATES... -o SURVEY), then give --survey SURVEY");
  }
  const Session session(args.common);
  const Exec& exec = session.exec();
  const std::string& out = args.partial.empty() ? args.survey : args.partial;
  OutputFiles files({.force = args.force});
  files.reserve(out);
  AuditOptions options = args.options;
  options.allow = gate.allow;
  const DataSource data =
      data_source(args.scores.empty() ? args.data : args.scores, args.groups);
  TaskChanges changes = task_changes(args.common, args.flags);
  if (const auto limits = limits_of(gate)) changes.flags.limits = limits;
  const auto model = open_source(args, data, changes, exec);
  if (args.scores.empty()) options.task = changes;
  Bytes bytes;
  if (args.partial.empty()) {
    bytes = state_bytes(survey_part(*model, data, options, exec));
  } else {
    const SavedState survey = parse_state(FileView::open(args.survey).bytes(), args.survey);
    if (!std::holds_alternative<SurveyState>(survey)) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: this is the count of a part, not a survey", args.survey),
                  "give the file that fmd merge wrote from surveys");
    }
    bytes =
        state_bytes(audit_part(*model, data, std::get<SurveyState>(survey), options, exec));
  }
  files.write(out, std::string(bytes.begin(), bytes.end()));
  files.commit();
  say(fmt::format("wrote {}", out));
  return 0;
}

// The tests of gaps take time: they are made only where they are shown.
bool shows_tests(const AuditArgs& args) {
  const std::string& format = args.gate.format;
  return args.common.json || !args.metrics.empty() || format == "json" ||
         (format.empty() && !args.out.empty());
}

int run_audit(AuditArgs& args) {
  args.options_flags.apply();
  args.scanned_flags.apply();
  const bool part = !args.partial.empty() || !args.survey.empty();
  if (!part && !shows_tests(args)) args.options.permutations = 0;
  args.scanned.confidence = args.options.confidence;
  args.scanned.include_rows = args.options.include_rows;
  if (args.scores.empty() == args.model.empty() ||
      (!args.model.empty() && args.data.empty())) {
    throw Error(ErrorKind::bad_option, "audit: give MODEL and DATA, or --scores FILE",
                "fmd audit MODEL DATA --attribute COLUMN");
  }
  if (!args.ledger.empty() &&
      (!args.scores.empty() || args.scan || !args.partial.empty() || !args.survey.empty()))
    throw Error(ErrorKind::bad_option, "audit: --ledger needs MODEL and DATA, as a whole",
                "leave --scores, --scan, --survey and --partial out");
  if (args.refits > 0 && (part || args.scan || !args.scores.empty()))
    throw Error(ErrorKind::bad_option, "audit: --refits needs MODEL and DATA, as a whole",
                "leave --scores, --scan, --survey and --partial out");
  if (part) return run_part(args);
  if (args.scan) return run_scan(args);
  const GateArgs& gate = args.gate;
  if (gate.fail_on_worse && gate.previous.empty() && gate.previous_model.empty()) {
    throw Error(ErrorKind::bad_option,
                "audit: --fail-on-worse needs something to compare with",
                "give --previous OLD.json or --previous-model OLD.safetensors");
  }
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  const std::vector<std::string> shown = metric_names(args.metrics);
  AuditOptions options = args.options;
  options.allow = gate.allow;
  if (!gate.previous.empty()) options.previous = read_audit(gate.previous);
  const DataSource data =
      data_source(args.scores.empty() ? args.data : args.scores, args.groups);
  TaskChanges changes = task_changes(args.common, args.flags);
  if (const auto limits = limits_of(gate)) changes.flags.limits = limits;
  const auto model = open_source(args, data, changes, session.exec());
  if (args.scores.empty()) options.task = changes;
  std::unique_ptr<ModelFile> previous_model;
  if (!gate.previous_model.empty())
    previous_model = open_model_file(gate.previous_model, formats(args.common));
  options.previous_model = previous_model.get();
  const auto looks = note_look(args.ledger, "audit", args.data, args.model, session.exec());
  AuditReport report = audit(*model, data, options, session.exec());
  report.ledger = looks;
  if (args.refits > 0)
    report.refits =
        refits(*model, data_source(args.train, args.groups), data,
               {.refits = args.refits, .audit = std::move(options)}, session.exec());
  report.shown = shown;
  report.notes = session.notes();
  const std::string& format = gate.format;
  if (!args.out.empty()) {
    files.write(args.out,
                formatted(report, format.empty() ? "json" : format, args.gate.guard));
    files.commit();
  }
  print(formatted(report,
                  args.common.json   ? "json"
                  : args.out.empty() ? format
                                     : "screen",
                  gate.guard));
  return exit_for(report, gate);
}

}  // namespace

namespace {

void add_figure_options(CLI::App& cmd, AuditArgs& args) {
  {
    const Topic topic(cmd, "Figures");
    cmd.add_option("--metrics", args.metrics,
                   "More rates and measures on the screen: all, or names separated by "
                   "commas; --json always has them")
        ->delimiter(',')
        ->allow_extra_args(false);
    for (const char* name : {"confidence", "replicates", "permutations", "weighted",
                             "neighbours", "include_rows", "round"})
      args.options_flags.add(cmd, name);
    auto* train = cmd.add_option("--train", args.train,
                                 "The rows that the model was trained on, for --refits");
    cmd.add_option("--refits", args.refits,
                   "Also show how figures vary with the training: train again on this many "
                   "samples of its rows, e.g. 20")
        ->check(CLI::Range(2, 10000))
        ->needs(train);
    add_guard(cmd, args.gate.guard);
  }
  const Topic topic(cmd, "Scan (--scan)");
  args.scanned_flags.add(cmd, "columns")->delimiter(',');
  for (const char* name : {"adjust", "top"}) args.scanned_flags.add(cmd, name);
}

void add_part_options(CLI::App& cmd, AuditArgs& args) {
  {
    const Topic topic(cmd, "Scores of another program");
    cmd.add_option(
        "--scores", args.scores,
        "Instead of MODEL and DATA: a CSV with p (or p_<class>), label and attributes");
    cmd.add_option("--pair-scores", args.pair_scores,
                   "Scores of the rows that `fmd pairs` made (columns kept, p added)");
  }
  const Topic topic(cmd, "Audits in parts");
  cmd.add_option("--survey", args.survey,
                 "Write which values the attributes have in DATA, a part of all rows; with "
                 "--partial: the merged survey of all parts");
  cmd.add_option("--partial", args.partial,
                 "Count DATA, a part of all rows, and write the count; fmd merge finishes");
}

}  // namespace

void add_audit(CLI::App& app) {
  auto args = std::make_shared<AuditArgs>();
  auto* cmd =
      app.add_subcommand("audit", "Measure bias per attribute, with intervals and limits");
  cmd->add_option("model", args->model, "Model file");
  cmd->add_option("data", args->data,
                  "CSV (also .gz), NPY or Parquet file, or data:NAME; labels are optional");
  cmd->add_flag(
      "--scan", args->scan,
      "Compare the groups of every column with few values, and of any two such columns");
  cmd->add_option("-o,--out", args->out, "Also write the JSON (or --format) here");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_gate_options(*cmd, args->gate);
  add_figure_options(*cmd, *args);
  add_part_options(*cmd, *args);
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_inputs_options(*cmd, args->common);
  add_rows_option(*cmd, args->common);
  add_ledger_option(*cmd, args->ledger);
  add_common(*cmd, args->common);
  cmd->footer(R"(
A limit passes when the whole 95 % interval is at or below the value. It fails when the whole
interval is above it. Otherwise there is not enough evidence (exit 3). A limit on a gap between
groups judges the widest pair of groups, or each group against the reference that the task names.
co of more than two values judges the worst pair of values (co_worst); co_mean judges the mean.
Warnings (constant_answer, other_threshold, seen_in_training, copied_rows, label_is_attribute) keep
limits from passing (exit 3) unless --allow names them.
An attribute that the model does not read has no flip gap, so a limit on its flip gap never passes.

Examples
  fmd audit income.safetensors test.csv --limit co:sex=.02
  fmd audit income.safetensors test.csv --attribute age:4
  fmd audit income.safetensors test.csv --scan
  fmd audit new.safetensors test.csv --previous-model old.safetensors --fail-on-worse
  fmd audit income.safetensors test.csv --attribute race --pairs match
  fmd pairs test.csv --flip sex -o flipped.csv        then score flipped.csv and test.csv
  fmd audit --scores scored.csv --pair-scores flipped_scored.csv --label income \
      --positive ">50000" --attribute sex)");
  on_run(*cmd, [args] { return run_audit(*args); });
}

}  // namespace fmd::cli
