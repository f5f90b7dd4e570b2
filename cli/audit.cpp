#include "fmd/pipeline/audit.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/gate.h"
#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/audit_stream.h"
#include "fmd/pipeline/previous_model.h"
#include "fmd/pipeline/scan.h"

namespace fmd::cli {
namespace {

struct AuditArgs {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, scores, pair_scores, out;
  GateArgs gate;
  std::vector<std::string> metrics;
  AuditOptions options;
  ScanOptions scanned;
  Index permutations = 1000;
  bool scan = false;
  bool force = false;
};

void require_attributes(const Task& task) {
  if (!task.attributes.empty()) return;
  throw Error(ErrorKind::bad_option, "audit: no attribute is named",
              "name the attribute to compare by: --attribute COLUMN");
}

// The previous model on the same rows. The previous audit, when given, must be of it.
AuditChanges compare_with_model(const AuditArgs& args, const Model& now, const Study& study,
                                const std::vector<std::optional<StudyPairs>>& pairs,
                                const AuditReport& report, const Exec& exec) {
  const std::string& file = args.gate.previous_model;
  const std::string sha256 = file_sha256(file);
  if (!args.gate.previous.empty() &&
      read_audit(args.gate.previous).model_sha256 != sha256) {
    throw Error(ErrorKind::wrong_model,
                fmt::format("{} is not an audit of {}", args.gate.previous, file),
                "give the model that was audited then, or leave --previous out");
  }
  AuditChanges changes =
      compare_models(open_model(file), now, study, pairs, report, args.options, exec);
  changes.previous.file = changes.previous.model =
      std::filesystem::path(file).filename().string();
  changes.previous.model_sha256 = sha256;
  return changes;
}

AuditReport audit_a_model(const AuditArgs& args, const Exec& exec) {
  Model model = open_model(args.model);
  model.task = with_limits(effective_task(model.task, args.common, args.flags), args.gate);
  require_attributes(model.task);
  const bool has_previous_model = !args.gate.previous_model.empty();
  const bool whole =
      has_previous_model || args.options.neighbours > 0 || !streams(model.task);
  StudyStream stream(model, model.task, args.data,
                     {.groups = args.groups,
                      .data_folder = data_folder(),
                      .weights = args.options.weighted,
                      .whole = whole},
                     exec);
  AuditReport report;
  if (whole) {
    Study study;
    stream.next(study, "reading");
    const auto pairs = make_pairs(model, study, model.task, {}, exec);
    report = audit_model(model, study, pairs, args.options, exec);
    if (has_previous_model)
      report.since_previous = compare_with_model(args, model, study, pairs, report, exec);
  } else {
    report = audit_stream(model, stream, args.options, exec);
  }
  report.data_sha256 = file_sha256(args.data);
  report.model = std::filesystem::path(args.model).filename().string();
  report.model_sha256 = file_sha256(args.model);
  return report;
}

// The task for scores of another program, from flags and task.toml, and how to read the
// scores.
struct ScoresTask {
  Task task;
  CsvOptions csv;
};

ScoresTask scores_task(const AuditArgs& args, const Exec& exec) {
  ScoresTask result;
  Task& task = result.task;
  CsvOptions& csv = result.csv;
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  task.label = args.flags.label.value_or(file.label.value_or(""));
  if (file.types) csv.types = *file.types;
  if (!task.label.empty()) csv.types[task.label] = ColumnKind::category;
  for (const std::string& text :
       args.flags.attributes.value_or(std::vector<std::string>{})) {
    const AttributeSpec spec = parse_attribute(text);
    csv.types.emplace(spec.name,
                      spec.quantiles > 0 ? ColumnKind::number : ColumnKind::category);
  }
  if (!args.groups.key.empty()) csv.types[args.groups.key] = ColumnKind::category;
  if (!file.classes && !task.label.empty()) {
    task.classes =
        label_classes(read_label_values(args.scores, csv, task.label, exec), task.label,
                      args.flags.positive.value_or(file.positive.value_or("")));
  } else if (!file.classes) {
    task.classes = {"no", args.flags.positive.value_or(file.positive.value_or("yes"))};
  }
  task = with_limits(merge(merge(task, file), args.flags), args.gate);
  if (task.binary() && task.favorable.empty()) task.favorable = task.classes[1];
  return result;
}

// All rows at once, with the groups of a second file.
Table whole_scores(const AuditArgs& args, const CsvOptions& csv, const Exec& exec) {
  Table scores = read_table(args.scores, csv, exec);
  if (args.groups.file.empty()) return scores;
  return join_groups(scores, read_table(args.groups.file, csv, exec), args.groups.key);
}

AuditReport audit_scores_file(const AuditArgs& args, const Exec& exec) {
  auto [task, csv] = scores_task(args, exec);
  require_attributes(task);
  AuditReport report;
  std::optional<TableStream> pairs;
  if (!args.pair_scores.empty())
    pairs = open_pair_scores(args.pair_scores, csv, task, exec);
  if (args.groups.file.empty() && streams(task) && (!pairs || in_order(*pairs))) {
    TableStream scores = open_scores(args.scores, csv, task, args.options, exec);
    report =
        audit_file_streams(scores, pairs ? &*pairs : nullptr, task, args.options, exec);
  } else {
    const Table scores = whole_scores(args, csv, exec);
    csv.types["fmd_from"] = csv.types["fmd_to"] = ColumnKind::category;
    Table twins;
    if (pairs) twins = read_table(args.pair_scores, csv, exec);
    report = audit_files(scores, pairs ? &twins : nullptr, task, args.options, exec);
  }
  report.data_sha256 = file_sha256(args.scores);
  return report;
}

ScanReport scan_a_model(const AuditArgs& args, const Exec& exec) {
  Model model = open_model(args.model);
  model.task = effective_task(model.task, args.common, args.flags);
  ScanReport report;
  if (args.groups.file.empty() && !args.data.starts_with("data:")) {
    report = scan_model_file(model, args.data, args.scanned, exec);
  } else {
    Task no_attributes = model.task;
    no_attributes.attributes.clear();
    const Study study =
        make_study(model, read_for(model, model.task, args.data, args.groups, exec),
                   no_attributes, false, exec);
    report = scan_model(model, study, args.scanned, exec);
  }
  report.data_sha256 = file_sha256(args.data);
  report.model = std::filesystem::path(args.model).filename().string();
  report.model_sha256 = file_sha256(args.model);
  return report;
}

ScanReport scan(const AuditArgs& args, const Exec& exec) {
  if (args.scores.empty()) return scan_a_model(args, exec);
  const auto [task, csv] = scores_task(args, exec);
  ScanReport report;
  if (args.groups.file.empty()) {
    report = scan_score_file(args.scores, csv, task, args.scanned, exec);
  } else {
    const Table scores = whole_scores(args, csv, exec);
    report = scan_files(scores, read_scores(scores, task), task, args.scanned, exec);
  }
  report.data_sha256 = file_sha256(args.scores);
  return report;
}

int run_scan(const AuditArgs& args) {
  const GateArgs& gate = args.gate;
  const bool judged = !gate.fail_over.empty() || !gate.fail_under.empty() ||
                      !gate.previous.empty() || !gate.previous_model.empty();
  if (judged ||
      (!gate.format.empty() && gate.format != "screen" && gate.format != "json")) {
    throw Error(
        ErrorKind::bad_option,
        "audit: --scan looks for suspects; it takes no limits, no previous audit, and "
        "writes screen or json",
        "to judge a column that it finds: fmd audit ... --attribute COLUMN --fail-over");
  }
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  const ScanReport report = scan(args, session.exec());
  if (!args.out.empty()) {
    files.write(args.out,
                gate.format == "screen" ? screen(sheet_of(report)) : to_json(report));
    files.commit();
  }
  const bool json = args.common.json || (args.out.empty() && gate.format == "json");
  print(json ? to_json(report) : screen(sheet_of(report)));
  return 0;
}

void require_previous(const AuditArgs& args) {
  const GateArgs& gate = args.gate;
  if (gate.fail_on_worse && gate.previous.empty() && gate.previous_model.empty()) {
    throw Error(ErrorKind::bad_option,
                "audit: --fail-on-worse needs something to compare with",
                "give --previous OLD.json or --previous-model OLD.safetensors");
  }
  if (!gate.previous_model.empty() && !args.scores.empty()) {
    throw Error(
        ErrorKind::bad_option,
        "audit: --previous-model needs MODEL and DATA: scores alone cannot be paired",
        "give --previous OLD.json");
  }
}

// The tests of gaps take time: they are made only where they are shown.
bool shows_tests(const AuditArgs& args) {
  const std::string& format = args.gate.format;
  return args.common.json || !args.metrics.empty() || format == "json" ||
         (format.empty() && !args.out.empty());
}

int run_audit(AuditArgs args) {
  if (shows_tests(args)) args.options.permutations = args.permutations;
  args.scanned.confidence = args.options.confidence;
  args.scanned.include_rows = args.options.include_rows;
  if (args.scores.empty() == args.model.empty() ||
      (!args.model.empty() && args.data.empty())) {
    throw Error(ErrorKind::bad_option, "audit: give MODEL and DATA, or --scores FILE",
                "fmd audit MODEL DATA --attribute COLUMN");
  }
  if (args.scan) return run_scan(args);
  require_previous(args);
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  const std::vector<std::string> shown = metric_names(args.metrics);
  std::optional<PreviousAudit> previous;
  if (!args.gate.previous.empty()) previous = read_audit(args.gate.previous);
  AuditReport report = args.scores.empty() ? audit_a_model(args, session.exec())
                                           : audit_scores_file(args, session.exec());
  if (previous && !report.since_previous)
    report.since_previous =
        compare_audits(*previous, parse_audit(to_json(report), "this audit"));
  report.shown = shown;
  report.notes = session.notes();
  const std::string& format = args.gate.format;
  if (!args.out.empty()) {
    files.write(args.out, formatted(report, format.empty() ? "json" : format));
    files.commit();
  }
  print(formatted(report, args.common.json   ? "json"
                          : args.out.empty() ? format
                                             : "screen"));
  return exit_for(report, args.gate);
}

}  // namespace

void add_audit(CLI::App& app) {
  auto args = std::make_shared<AuditArgs>();
  auto* cmd =
      app.add_subcommand("audit", "Measure bias per attribute, with intervals and limits");
  cmd->add_option("model", args->model, "Model file");
  cmd->add_option("data", args->data,
                  "CSV (also .gz), NPY or Parquet file, or data:NAME; labels are optional");
  cmd->add_option(
      "--scores", args->scores,
      "Instead of MODEL and DATA: a CSV with p (or p_<class>), label and attributes");
  cmd->add_option("--pair-scores", args->pair_scores,
                  "Scores of the rows that `fmd pairs` made (columns kept, p added)");
  add_gate_options(*cmd, args->gate);
  cmd->add_flag(
      "--scan", args->scan,
      "Compare the groups of every column with few values, and of any two such columns");
  cmd->add_option("--scan-columns", args->scanned.columns, "Scan only these columns: a,b,c")
      ->delimiter(',')
      ->allow_extra_args(false);
  cmd->add_option("--adjust", args->scanned.adjust,
                  "How a scan adjusts p-values for the number of comparisons: holm (no "
                  "false finding), bh (few of the findings are false), none")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Adjust>{
          {"holm", Adjust::holm}, {"bh", Adjust::bh}, {"none", Adjust::none}}))
      ->default_str("holm");
  cmd->add_option("--top", args->scanned.top, "Number of lines in each list of a scan")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  cmd->add_option("--metrics", args->metrics,
                  "More rates and measures on the screen: all, or names separated by "
                  "commas; --json always has them")
      ->delimiter(',')
      ->allow_extra_args(false);
  cmd->add_flag("--weighted", args->options.weighted,
                "Weight each row by the column that --weight names")
      ->capture_default_str();
  cmd->add_option("-o,--out", args->out, "Also write the JSON (or --format) here");
  cmd->add_option("--replicates", args->options.replicates, "Bootstrap replicates")
      ->check(CLI::Range(50, 1000000))
      ->capture_default_str();
  cmd->add_option("--permutations", args->permutations,
                  "Permutations for the tests of group gaps (--metrics, JSON); 0: no tests")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  cmd->add_option("--confidence", args->options.confidence, "Confidence of all intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  cmd->add_option("--intervals", args->options.intervals,
                  "Kind of bootstrap intervals: percentile, or bca (corrected for bias and "
                  "skewness)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Bootstrap>{
          {"percentile", Bootstrap::percentile}, {"bca", Bootstrap::bca}}))
      ->default_str("percentile");
  cmd->add_option("--neighbours", args->options.neighbours,
                  "Also compare the answers of this many nearest rows, e.g. 5; cost grows "
                  "with rows^2")
      ->check(CLI::Range(1, 1000));
  cmd->add_flag("--include-rows", args->options.include_rows,
                "Show groups of fewer than 10 rows; without this option they are masked");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_common(*cmd, args->common);
  cmd->footer(R"(
A limit passes when the whole 95 % interval is at or below the value. It fails when the whole
interval is above it. Otherwise there is not enough evidence (exit 3). An attribute that the model
does not read has no flip gap, so a limit on its flip gap never passes.

Examples
  fmd audit income.safetensors test.csv --fail-over co:sex=.02
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
