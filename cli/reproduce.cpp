#include "fmd/repro/reproduce.h"

#include <optional>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/tree_study.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/repro/figures.h"

namespace fmd::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrees = "trees";

struct ReproduceArgs {
  Common common;
  std::string table, folder, model, python = "python3", fairgbm;
  int seeds = 10;
  bool quick = false, fresh = false, draw = false;
};

// docs/results inside the repository, otherwise results.
fs::path result_folder(const ReproduceArgs& args) {
  if (!args.folder.empty()) return args.folder;
  const bool repository = fs::exists("repro/table1.toml") && fs::is_directory("docs");
  return repository ? "docs/results" : "results";
}

// An error before an hour of work. The folder itself is made with the first result.
void require_room(const fs::path& folder) {
  std::error_code ignored;
  fs::path there = fs::absolute(folder);
  while (!fs::exists(there, ignored) && there.has_relative_path())
    there = there.parent_path();
  const char* const reason = !fs::is_directory(there, ignored)  ? "is not a folder"
                             : access(there.c_str(), W_OK) != 0 ? "cannot be written to"
                                                                : nullptr;
  if (reason == nullptr) return;
  throw Error(ErrorKind::cannot_write,
              fmt::format("reproduce: the folder {} cannot be made: {} {}", folder.string(),
                          there.string(), reason),
              "choose another one: fmd reproduce TABLE -o FOLDER");
}

// A table that an earlier run left.
ReproducedTable finished_table(const fs::path& path) {
  if (!fs::is_regular_file(path))
    throw Error(ErrorKind::cannot_read,
                fmt::format("reproduce: there is no {} to draw", path.string()),
                "run it first: fmd reproduce TABLE");
  return read_reproduced_table(FileView::open(path).text(), path.string());
}

// The page shows its figures, all in the same folder.
std::string page(const ReproducedTable& table, const std::vector<ReproducedFigure>& figures,
                 const std::string& ending) {
  std::string text = to_markdown(table);
  if (!figures.empty()) text += "\n## Figures\n";
  for (const ReproducedFigure& figure : figures)
    text += fmt::format("\n![{}]({}{}.svg)\n", figure.title, figure.name, ending);
  return text;
}

// The table with the rows of those that are shown beside it, where the folder has them.
ReproducedTable with_rows_beside(ReproducedTable table, const fs::path& folder) {
  const std::string ending = table.quick ? ".quick.json" : ".json";
  for (const std::string& name : reproducible())
    if (shown_beside(name) == table.name && fs::is_regular_file(folder / (name + ending)))
      table = joined(std::move(table), finished_table(folder / (name + ending)));
  return table;
}

void write_results(const ReproducedTable& table, const fs::path& folder,
                   const std::string& stem, const ReproduceArgs& args) {
  const std::string ending = table.quick ? ".quick" : "";
  const ReproducedTable shown = with_rows_beside(table, folder);
  const std::vector<ReproducedFigure> figures = figures_of(table);
  OutputFiles files({.force = true});
  if (!args.draw) files.write(folder / (stem + ".json"), to_json(table));
  files.write(folder / (stem + ".md"), page(shown, figures, ending));
  for (const ReproducedFigure& figure : figures)
    files.write(folder / (figure.name + ending + ".svg"), figure.svg);
  files.commit();
  for (const ReproducedFigure& figure : figures)
    say(fmt::format("drew {}", (folder / (figure.name + ending + ".svg")).string()));
}

// None where it needs a plug-in that is absent and others were asked for too.
std::optional<ReproducedTable> table_of(const std::string& name, bool alone,
                                        const ReproduceOptions& options, const Exec& exec) {
  try {
    return reproduce(name, options, exec);
  } catch (const Error& error) {
    if (alone || error.kind() != ErrorKind::unsupported) throw;
    say(fmt::format("{} is left out: {}", name, error.what()));
    return std::nullopt;
  }
}

// The table of trees is made by a script, whose figures are of the libraries' own.
int reproduce_trees(const ReproduceArgs& args) {
  const fs::path folder = result_folder(args);
  require_room(folder);
  run_tree_study({.python = args.python,
                  .fairgbm = args.fairgbm,
                  .folder = folder,
                  .seed = args.common.seed,
                  .seeds = args.seeds,
                  .quick = args.quick,
                  .fresh = args.fresh,
                  .draw = args.draw});
  const std::string stem = args.quick ? "trees.quick" : "trees";
  const fs::path shown = folder / (stem + (args.common.json ? ".json" : ".md"));
  const std::string text(FileView::open(shown).text());
  if (args.common.json)
    print(nlohmann::ordered_json::parse(text));
  else
    print(text);
  say(fmt::format("wrote {}", (folder / (stem + ".md")).string()));
  return 0;
}

int run_reproduce(const ReproduceArgs& args) {
  if (args.table == kTrees) return reproduce_trees(args);
  const Session session(args.common);
  std::vector<std::string> names = {args.table};
  if (args.table == "all") {
    names = reproducible();
    std::erase(names, "table3");
    std::erase(names, "table3_trained");
    std::erase(names, "table4");
    say("note   table3 is not part of all: its faces are not public; fmd reproduce table3");
    say("note   table4 is not part of all: it needs a language model; fmd reproduce table4 "
        "--model FOLDER");
    say("note   trees is not part of all: it needs Python; fmd reproduce trees");
  }
  ReproduceOptions options;
  options.quick = args.quick;
  options.fresh = args.fresh;
  options.data = data_folder();
  options.model = args.model;
  options.features = input_files(args.common).cache;
  options.say = [](const std::string& words) { say(words); };
  options.seeds.clear();
  const int seeds = args.quick ? 1 : args.seeds;
  for (int i = 0; i < seeds; ++i)
    options.seeds.push_back(args.common.seed + static_cast<std::uint64_t>(i));
  const fs::path folder = result_folder(args);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  require_room(folder);
  for (const std::string& name : names) {
    const std::string stem = args.quick ? name + ".quick" : name;
    options.cache = folder / (stem + ".cache.json");
    options.checkpoints = folder / (stem + ".checkpoints");
    const auto made = args.draw
                          ? finished_table(folder / (stem + ".json"))
                          : table_of(name, args.table != "all", options, session.exec());
    if (!made) continue;
    const ReproducedTable& table = *made;
    write_results(table, folder, stem, args);
    const std::string beside = shown_beside(name);
    const fs::path page_of = folder / (beside + (args.quick ? ".quick" : "") + ".json");
    if (!beside.empty() && fs::is_regular_file(page_of)) {
      ReproduceArgs drawn = args;
      drawn.draw = true;
      write_results(finished_table(page_of), folder, page_of.stem().string(), drawn);
    }
    if (args.common.json) {
      all.push_back(nlohmann::ordered_json::parse(to_json(table)));
    } else {
      print(to_markdown(table) + "\n");
    }
    say(fmt::format("wrote {}", (folder / (stem + ".md")).string()));
  }
  if (args.common.json) print(names.size() == 1 && args.table != "all" ? all[0] : all);
  return 0;
}

}  // namespace

void add_reproduce(CLI::App& app) {
  auto args = std::make_shared<ReproduceArgs>();
  auto* cmd = app.add_subcommand(
      "reproduce",
      "Measure a table of the paper again; show the printed figures, ours and the time");
  cmd->add_option("table", args->table,
                  "toy, table1, ..., trees; all = every table but table3, table3_trained, "
                  "table4 and trees")
      ->required();
  cmd->add_option("--seeds", args->seeds, "Number of seeds, beginning with --seed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  cmd->add_option("--model", args->model, "Folder of a language model, for table4");
  cmd->add_option("--python", args->python,
                  "trees: a Python with xgboost, lightgbm and pandas")
      ->capture_default_str();
  cmd->add_option("--fairgbm", args->fairgbm,
                  "trees: a Python with fairgbm, which needs an old NumPy");
  cmd->add_flag("--quick", args->quick,
                "Few rows and one seed: shows that it runs; the figures mean nothing");
  cmd->add_flag("--fresh", args->fresh, "Run all seeds again, also those that are done");
  cmd->add_flag("--draw", args->draw,
                "Only draw the figures again, and the page, from TABLE.json in the folder");
  cmd->add_option(
      "-o,--out", args->folder,
      "Folder for the results (docs/results in the repository, otherwise results)");
  add_feature_cache(*cmd, args->common);
  add_common(*cmd, args->common);
  cmd->footer(
      "\nExamples\n  fmd reproduce toy\n  fmd reproduce toy --draw\n  fmd reproduce table1 "
      "--seeds 3 -o results\n  "
      "fmd reproduce table4 --model SmolLM2-135M --seeds 5\n  "
      "fmd reproduce trees --python trees/bin/python");
  on_run(*cmd, [args] { return run_reproduce(*args); });
}

}  // namespace fmd::cli
