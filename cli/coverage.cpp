#include "fmd/repro/coverage.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/repro/coverage_page.h"

namespace fmd::cli {
namespace {

struct CoverageArgs {
  Common common;
  CoverageOptions options;
  std::string journal, out;
  bool force = false;
};

constexpr Index kDrawsAtOnce = 50;  // between two writes of the journal

std::vector<CoverageSetting> settings_of(const CoverageArgs& args, std::uint64_t seed) {
  std::vector<CoverageSetting> settings;
  if (!args.journal.empty() && std::filesystem::exists(args.journal)) {
    const FileView file = FileView::open(args.journal);
    settings = parse_coverage(
        {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
        args.journal, seed);
  }
  std::vector<CoverageSetting> wanted;
  for (const std::string& population : coverage_populations())
    for (const Index rows : args.options.rows) {
      CoverageSetting one{population, rows, 0, {}};
      for (const CoverageSetting& known : settings)
        if (known.population == population && known.rows == rows) one = known;
      wanted.push_back(std::move(one));
    }
  return wanted;
}

int run_coverage(const CoverageArgs& args) {
  const Session session(args.common);
  const Exec& exec = session.exec();
  OutputFiles files({.force = args.force});
  if (!args.out.empty()) files.reserve(args.out);
  std::vector<CoverageSetting> settings = settings_of(args, exec.seed);
  for (Index until = kDrawsAtOnce;; until += kDrawsAtOnce) {
    bool more = false;
    for (CoverageSetting& setting : settings) {
      const Index last = std::min(until, args.options.draws);
      more = more || last < args.options.draws;
      if (setting.draws >= last) continue;
      add_draws(setting, last, args.options, exec);
      if (!args.journal.empty())
        write_file(args.journal, to_json(settings, exec.seed), true);
    }
    if (!more) break;
  }
  const std::string page = args.common.json
                               ? to_json(settings, exec.seed)
                               : coverage_page(settings, args.options, exec.seed);
  if (args.out.empty()) {
    print(page);
    return 0;
  }
  files.write(args.out, page);
  files.commit();
  say(fmt::format("wrote {}", args.out));
  return 0;
}

}  // namespace

void add_coverage(CLI::App& app) {
  auto args = std::make_shared<CoverageArgs>();
  auto* cmd = app.add_subcommand(
      "coverage", "Simulate how often the intervals of an audit hold; writes a page");
  cmd->add_option("--draws", args->options.draws, "Samples of each population and size")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  cmd->add_option("--rows", args->options.rows, "Sizes of the samples")
      ->delimiter(',')
      ->check(CLI::Range(200, 50000))
      ->capture_default_str();
  cmd->add_option("--replicates", args->options.replicates, "Bootstrap replicates")
      ->check(CLI::Range(50, 1000000))
      ->capture_default_str();
  cmd->add_option(
      "--journal", args->journal,
      "What has been counted so far; a run that was stopped goes on from there");
  cmd->add_option("-o,--out", args->out, "Where to write the page");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer(R"(
2,000 draws take about half an hour of one core.

Example
  fmd coverage --draws 200 --journal coverage.json -o coverage.md)");
  on_run(*cmd, [args] { return run_coverage(*args); });
}

}  // namespace fmd::cli
