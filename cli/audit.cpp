#include "fmd/pipeline/audit.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"

namespace fmd::cli {
namespace {

struct Args {
  Common common;
  TaskOverrides flags;
  GroupsFile groups;
  std::string model, data, scores, pair_scores, out, on_unclear = "exit-3";
  std::vector<std::string> limits;
  AuditOptions options;
  bool force = false;
};

Task with_limits(Task task, const std::vector<std::string>& limits) {
  if (limits.empty()) return task;
  task.limits.clear();
  for (const std::string& text : limits) task.limits.push_back(parse_limit(text));
  return task;
}

void require_attributes(const Task& task) {
  if (!task.attributes.empty()) return;
  throw Error(ErrorKind::bad_option, "audit: no attribute is named",
              "say whom to compare: --attribute COLUMN");
}

AuditReport audit_a_model(const Args& args, const Exec& exec) {
  Model model = open_model(args.model);
  model.task =
      with_limits(effective_task(model.task, args.common, args.flags), args.limits);
  require_attributes(model.task);
  const Table table = read_for(model, model.task, args.data, args.groups);
  Study study = make_study(model, table, model.task, false, exec);
  study.sha256 = file_sha256(args.data);
  const auto pairs = make_pairs(model, study, model.task, {}, exec);
  AuditReport report = audit_model(model, study, pairs, args.options, exec);
  report.model = std::filesystem::path(args.model).filename().string();
  report.model_sha256 = file_sha256(args.model);
  return report;
}

AuditReport audit_scores_file(const Args& args, const Exec& exec) {
  Task task;
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  task.label = args.flags.label.value_or(file.label.value_or(""));
  CsvOptions csv;
  if (file.types) csv.types = *file.types;
  if (!task.label.empty()) csv.types[task.label] = ColumnKind::category;
  for (const std::string& text :
       args.flags.attributes.value_or(std::vector<std::string>{})) {
    const AttributeSpec spec = parse_attribute(text);
    csv.types.emplace(spec.name,
                      spec.quantiles > 0 ? ColumnKind::number : ColumnKind::category);
  }
  Table scores = read_csv(args.scores, csv);
  if (!args.groups.file.empty()) {
    csv.types[args.groups.key] = ColumnKind::category;
    scores = join_groups(read_csv(args.scores, csv), read_csv(args.groups.file, csv),
                         args.groups.key);
  }
  if (!file.classes && !task.label.empty()) {
    task.classes = label_classes(scores, task.label,
                                 args.flags.positive.value_or(file.positive.value_or("")));
  } else if (!file.classes) {
    task.classes = {"no", args.flags.positive.value_or(file.positive.value_or("yes"))};
  }
  task = with_limits(merge(merge(task, file), args.flags), args.limits);
  if (task.binary() && task.favorable.empty()) task.favorable = task.classes[1];
  require_attributes(task);
  std::optional<Table> pairs;
  if (!args.pair_scores.empty()) {
    csv.types["fmd_from"] = csv.types["fmd_to"] = ColumnKind::category;
    pairs = read_csv(args.pair_scores, csv);
  }
  AuditReport report =
      audit_files(scores, pairs ? &*pairs : nullptr, task, args.options, exec);
  report.data_sha256 = file_sha256(args.scores);
  return report;
}

int exit_for(const AuditReport& report, const std::string& on_unclear) {
  if (report.verdict == Verdict::fail) return 1;
  if (report.verdict != Verdict::unclear) return 0;
  if (on_unclear == "fail") return 1;
  if (on_unclear == "exit-3") return 3;
  // What cannot be judged at all stays unclear, whatever is asked for.
  for (const LimitResult& limit : report.limits)
    if (limit.verdict == Verdict::unclear && limit.lines.empty()) return 3;
  return 0;
}

int run(const Args& args) {
  if (args.scores.empty() == args.model.empty() ||
      (!args.model.empty() && args.data.empty())) {
    throw Error(ErrorKind::bad_option, "audit: give MODEL and DATA, or --scores FILE",
                "fmd audit MODEL DATA --attribute COLUMN");
  }
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  const AuditReport report = args.scores.empty() ? audit_a_model(args, session.exec())
                                                 : audit_scores_file(args, session.exec());
  if (!args.out.empty()) {
    files.write(args.out, to_json(report));
    files.commit();
  }
  print(args.common.json ? to_json(report) : screen(report));
  return exit_for(report, args.on_unclear);
}

}  // namespace

void add_audit(CLI::App& app) {
  auto args = std::make_shared<Args>();
  auto* cmd =
      app.add_subcommand("audit", "Measure bias per attribute, with intervals and limits");
  cmd->add_option("model", args->model, "Model file");
  cmd->add_option("data", args->data,
                  "CSV file (also .gz), or data:NAME; labels are optional");
  cmd->add_option(
      "--scores", args->scores,
      "In place of MODEL and DATA: a CSV with p (or p_<class>), label and attributes");
  cmd->add_option("--pair-scores", args->pair_scores,
                  "Scores of the rows that `fmd pairs` made (columns kept, p added)");
  cmd->add_option("--fail-over", args->limits, "Limit, e.g. co:sex=.02; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("--on-unclear", args->on_unclear,
                  "Not enough evidence counts as: exit-3, fail, pass")
      ->check(CLI::IsMember({"exit-3", "fail", "pass"}))
      ->capture_default_str();
  cmd->add_option("-o,--out", args->out, "Also write the JSON here");
  cmd->add_option("--replicates", args->options.replicates, "Bootstrap replicates")
      ->check(CLI::Range(50, 1000000))
      ->capture_default_str();
  cmd->add_option("--confidence", args->options.confidence, "Of all intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_groups_options(*cmd, args->groups);
  add_task_options(*cmd, args->flags);
  add_common(*cmd, args->common);
  cmd->footer(R"(
A limit passes when its whole 95 % interval is at or below the value, fails when it is wholly
above, and is else not enough evidence (exit 3). An attribute that the model does not read has no
flip gap and never passes a limit on one.

Examples
  fmd audit income.safetensors test.csv --fail-over co:sex=.02
  fmd pairs test.csv --flip sex -o flipped.csv        then score flipped.csv and test.csv
  fmd audit --scores scored.csv --pair-scores flipped_scored.csv --label income \
      --positive ">50000" --attribute sex)");
  on_run(*cmd, [args] { return run(*args); });
}

}  // namespace fmd::cli
