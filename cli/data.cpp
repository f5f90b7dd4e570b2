#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/output_files.h"
#include "fmd/data/datasets.h"

namespace fmd::cli {
namespace {

struct DataArgs {
  Common common;
  std::string name, out;
  bool force = false;
};

int list(const DataArgs& args) {
  nlohmann::ordered_json json = {
      {"schema", 1}, {"command", "data"}, {"sets", nlohmann::ordered_json::array()}};
  std::string words;
  std::vector<Dataset> sets = datasets();
  for (const Dataset& set : image_datasets()) sets.push_back(set);
  for (const Dataset& set : sets) {
    const bool here = is_present(set, data_folder());
    const char* state = set.files.empty() ? "built in" : here ? "here" : "absent";
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    words += fmt::format("{:<8} {:<9} {}, {} rows\n", set.name, state, set.title, set.rows);
    words += fmt::format("         {}\n", set.source);
    for (const DatasetFile& file : set.files) {
      words += fmt::format("         {}  sha256 {}\n", file.path, file.sha256);
      files.push_back({{"path", file.path}, {"sha256", file.sha256}});
    }
    json["sets"].push_back({{"name", set.name},
                            {"state", state},
                            {"title", set.title},
                            {"rows", set.rows},
                            {"source", set.source},
                            {"files", files}});
  }
  words +=
      "\nUse data:NAME (or data:NAME/train, /test) instead of a file; mnist holds images, "
      "for\nfmd reproduce. Files are searched in $FMD_DATA or, when it is not set, in "
      "./data.\n";
  if (args.common.json)
    print(json);
  else
    print(words);
  return 0;
}

int run_data(const DataArgs& args) {
  if (args.name.empty()) return list(args);
  const std::string name = args.name.starts_with("data:") ? args.name : "data:" + args.name;
  const Table table = read_data(name);
  if (args.out.empty()) {
    print(to_csv(table));
  } else {
    write_file(args.out, to_csv(table), args.force);
    say(fmt::format("wrote {}, {} rows", args.out, table.rows()));
  }
  return 0;
}

}  // namespace

void add_data(CLI::App& app) {
  auto args = std::make_shared<DataArgs>();
  auto* cmd = app.add_subcommand(
      "data", "List the data sets known by name, with source and checksum");
  cmd->add_option("name", args->name,
                  "Write this set as CSV (NAME or NAME/train, NAME/test)");
  cmd->add_option("-o,--out", args->out, "Where to write it; without -o, stdout");
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer("\nExamples\n  fmd data\n  fmd data adult/test -o adult_test.csv");
  on_run(*cmd, [args] { return run_data(*args); });
}

}  // namespace fmd::cli
