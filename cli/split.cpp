#include "fmd/data/split.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/data/table_stream.h"

namespace fmd::cli {
namespace {

struct SplitArgs {
  Common common;
  std::string data, parts = "train=.5,repair=.2,test=.3", folder = ".";
  std::vector<std::string> by;
  bool force = false;
};

// Rows with equal values of the named columns form a stratum.
std::vector<std::int32_t> strata(const Table& table,
                                 const std::vector<std::string>& columns) {
  std::map<std::string, std::int32_t> numbers;
  std::vector<std::int32_t> stratum(static_cast<std::size_t>(table.rows()));
  for (Index row = 0; row < table.rows(); ++row) {
    std::string key;
    for (const std::string& name : columns) key += table.column(name).text(row) + '\x1f';
    const auto next = static_cast<std::int32_t>(numbers.size());
    stratum[static_cast<std::size_t>(row)] = numbers.emplace(key, next).first->second;
  }
  return stratum;
}

int run_split(const SplitArgs& args) {
  const std::vector<Part> parts = parse_parts(args.parts);
  OutputFiles files({.force = args.force});
  const auto path = [&](const Part& part) {
    return std::filesystem::path(args.folder) / (part.name + ".csv");
  };
  for (const Part& part : parts) files.reserve(path(part));
  std::string text;
  Table table;
  const bool named = args.data.starts_with("data:");
  if (named || table_format(InputFile::open(args.data)->first(64)) != TableFormat::csv) {
    table = read_data(args.data);
    text = to_csv(table);
  } else {
    table = read_csv(args.data);
    text = read_text(args.data);
  }
  const std::vector<std::string_view> records = csv_records(text, args.data);
  const auto rows = split_rows(strata(table, args.by), parts, args.common.seed);
  nlohmann::ordered_json json = {{"schema", 1}, {"command", "split"}, {"parts", {}}};
  std::string words;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    std::string out(records[0]);
    out += '\n';
    for (const Index row : rows[k]) {
      out += records[static_cast<std::size_t>(row) + 1];
      out += '\n';
    }
    files.write(path(parts[k]), out);
    json["parts"].push_back({{"name", parts[k].name},
                             {"file", path(parts[k]).string()},
                             {"rows", rows[k].size()}});
    words += fmt::format("wrote {}, {} rows\n", safe_text(path(parts[k]).string()),
                         rows[k].size());
  }
  files.commit();
  if (args.common.json)
    print(json);
  else
    print(words);
  return 0;
}

}  // namespace

void add_split(CLI::App& app) {
  auto args = std::make_shared<SplitArgs>();
  auto* cmd = app.add_subcommand(
      "split", "Cut a table into seeded, stratified parts; rows are not changed");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  cmd->add_option("--parts", args->parts, "NAME=SHARE,...; shares sum to at most 1")
      ->capture_default_str();
  cmd->add_option("--by", args->by,
                  "Column to stratify by (label, attribute); may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("-o,--out", args->folder, "Folder for NAME.csv")->capture_default_str();
  cmd->add_flag("--force", args->force, "Replace files that exist");
  add_common(*cmd, args->common);
  cmd->footer(
      "\nExample\n  fmd split loans.csv --parts train=.5,repair=.2,test=.3 --by deny --by "
      "race");
  on_run(*cmd, [args] { return run_split(*args); });
}

}  // namespace fmd::cli
