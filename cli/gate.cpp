#include "cli/gate.h"

#include <fmt/format.h>

#include "cli/common.h"
#include "fmd/core/error.h"
#include "fmd/metrics/measure_names.h"

namespace fmd::cli {
namespace {

// The old flags say the sense of the measure; --limit leaves it to the measure.
Limit limit_of(const std::string& text, bool floor) {
  const Limit limit = parse_limit(text);
  if (is_floor(measure_named(limit.measure, "limit " + text)) == floor) return limit;
  throw Error(ErrorKind::bad_option,
              fmt::format("limit {}: {} is best when {}", text, limit.measure,
                          floor ? "small" : "large"),
              fmt::format("write --limit {}", text));
}

}  // namespace

void add_gate_options(CLI::App& command, GateArgs& args) {
  command
      .add_option("--limit", args.limits,
                  "Limit on a measure, e.g. co:sex=.02; may be repeated. Gaps must be at "
                  "most the value; ratios and accuracies (selection_ratio=.8) at least")
      ->allow_extra_args(false);
  command
      .add_option("--format", args.format,
                  "Format of the file with -o, otherwise of stdout: screen, json, csv, "
                  "markdown or junit")
      ->check(CLI::IsMember({"screen", "json", "csv", "markdown", "junit"}));
  const Topic topic(command, "Limits and earlier audits");
  command
      .add_option("--on-unclear", args.on_unclear,
                  "What to do when there is not enough evidence: exit-3, fail, pass")
      ->check(CLI::IsMember({"exit-3", "fail", "pass"}))
      ->capture_default_str();
  command
      .add_option("--allow", args.allow,
                  "Let limits pass beside these warnings, by name: copied_rows,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--previous", args.previous,
                     "A previous audit.json; the audit shows what changed since then");
  command.add_option(
      "--previous-model", args.previous_model,
      "The previous model; both models score DATA, and changes are paired by row");
  // The old names still work. An empty group hides them from --help.
  command.add_option("--fail-over", args.fail_over)->allow_extra_args(false)->group("");
  command.add_option("--fail-under", args.fail_under)->allow_extra_args(false)->group("");
  command.add_option("--baseline", args.previous)->group("");
  command.add_option("--baseline-model", args.previous_model)->group("");
  command.add_flag("--fail-on-worse", args.fail_on_worse,
                   "Exit 1 when the whole interval of a change is on the worse side");
}

bool judges(const GateArgs& args) {
  return !args.limits.empty() || !args.fail_over.empty() || !args.fail_under.empty();
}

std::optional<std::vector<Limit>> limits_of(const GateArgs& args) {
  if (!judges(args)) return std::nullopt;
  std::vector<Limit> limits;
  for (const std::string& text : args.limits) limits.push_back(parse_limit(text));
  for (const std::string& text : args.fail_over) limits.push_back(limit_of(text, false));
  for (const std::string& text : args.fail_under) limits.push_back(limit_of(text, true));
  return limits;
}

std::string formatted(const AuditReport& report, const std::string& format, bool guard) {
  if (format == "json") return to_json(report);
  const Sheet sheet = sheet_of(report);
  if (format == "csv") return csv(sheet, guard ? CsvGuard::formulas : CsvGuard::none);
  if (format == "markdown") return markdown(sheet);
  if (format == "junit") return junit(sheet);
  return screen(sheet);
}

int exit_for(const AuditReport& report, const GateArgs& args) {
  if (report.verdict == Verdict::fail) return 1;
  if (args.fail_on_worse && report.since_previous &&
      report.since_previous->count(Direction::worse) > 0) {
    say(fmt::format("fmd: {} figures are worse than in {}",
                    report.since_previous->count(Direction::worse),
                    report.since_previous->previous.file));
    return 1;
  }
  if (report.verdict != Verdict::unclear) return 0;
  if (args.on_unclear == "fail") return 1;
  // No option but --allow takes a warning away.
  for (const AuditWarning& warning : report.warnings)
    if (!warning.allowed) return 3;
  if (args.on_unclear == "exit-3") return 3;
  // A limit that cannot be judged at all, or that can never pass (too few rows, a mirror
  // that is left), stays unclear: no option changes that.
  for (const LimitResult& limit : report.limits)
    if (limit.verdict == Verdict::unclear && (limit.lines.empty() || !limit.reason.empty()))
      return 3;
  return 0;
}

}  // namespace fmd::cli
