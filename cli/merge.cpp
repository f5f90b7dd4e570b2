#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/gate.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/pipeline/audit_state.h"

namespace fmd::cli {
namespace {

struct MergeArgs {
  Common common;
  std::vector<std::string> states;
  std::string out;
  bool force = false;
};

SavedState merged(const std::vector<std::string>& files) {
  const auto read = [](const std::string& file) {
    return parse_state(FileView::open(file).bytes(), file);
  };
  SavedState all = read(files[0]);
  for (std::size_t i = 1; i < files.size(); ++i) {
    const SavedState next = read(files[i]);
    if (all.index() != next.index()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("merge: {} and {} are not of one kind", files[0], files[i]),
                  "merge the surveys first, then the counts");
    }
    if (auto* survey = std::get_if<SurveyState>(&all)) {
      survey->merge(std::get<SurveyState>(next));
    } else {
      std::get<AuditState>(all).merge(std::get<AuditState>(next));
    }
  }
  return all;
}

int run_merge(const MergeArgs& args) {
  const Session session(args.common);
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  const SavedState all = merged(args.states);
  if (const auto* survey = std::get_if<SurveyState>(&all)) {
    if (args.out.empty()) {
      throw Error(ErrorKind::bad_option, "merge: a merged survey needs a file",
                  "say where: -o SURVEY");
    }
    const Bytes bytes = state_bytes(*survey);
    files.write(args.out, std::string(bytes.begin(), bytes.end()));
    files.commit();
    say(fmt::format("wrote {}, {} rows", args.out, survey->rows()));
    return 0;
  }
  const AuditReport report = std::get<AuditState>(all).report(session.exec());
  if (!args.out.empty()) {
    files.write(args.out, formatted(report, "json"));
    files.commit();
  }
  print(formatted(report, args.common.json ? "json" : "screen"));
  return exit_for(report, {});
}

}  // namespace

void add_merge(CLI::App& app) {
  auto args = std::make_shared<MergeArgs>();
  auto* cmd = app.add_subcommand("merge", "Finish an audit that was made in parts");
  cmd->add_option("states", args->states,
                  "Files that audit --survey or audit --partial wrote, in any order")
      ->required();
  cmd->add_option(
      "-o,--out", args->out,
      "Surveys: where to write the merged one. Counts: also write the JSON here");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer(R"(
The report is that of one audit of all rows, to the last digit. States hold counts and, of up to
200,000 rows, scores: protect them like the scores.

Example, with the rows in two parts
  fmd audit income.safetensors a.csv --survey a.survey
  fmd audit income.safetensors b.csv --survey b.survey
  fmd merge a.survey b.survey -o all.survey
  fmd audit income.safetensors a.csv --survey all.survey --partial a.state
  fmd audit income.safetensors b.csv --survey all.survey --partial b.state
  fmd merge a.state b.state)");
  on_run(*cmd, [args] { return run_merge(*args); });
}

}  // namespace fmd::cli
