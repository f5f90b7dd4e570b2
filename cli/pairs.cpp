#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/data/pair_plan.h"

namespace fmd::cli {
namespace {

struct Args {
  Common common;
  std::string data, attribute, out;
  std::vector<std::string> values;
  bool force = false;
};

int run(const Args& args) {
  OutputFiles files({.force = args.force});
  files.reserve(args.out);
  AttributeSpec spec;
  spec.name = args.attribute;
  spec.columns = {args.attribute};
  spec.values = args.values;
  CsvOptions csv;
  if (!args.common.task_file.empty()) {
    const Task task = merge({}, read_task(args.common.task_file));
    csv = csv_options(task);
    if (const AttributeSpec* known = task.find(args.attribute)) spec = *known;
    if (!args.values.empty()) spec.values = args.values;
  }
  const Table table = read_data(args.data, csv);
  const Attribute attribute = read_attribute(table, spec);
  const PairPlan plan = flip_plan(attribute);
  files.write(args.out, to_csv(flipped_table(table, attribute, plan)));
  files.commit();
  if (args.common.json) {
    print(nlohmann::ordered_json{{"schema", 1},
                                 {"command", "pairs"},
                                 {"rows", table.rows()},
                                 {"pairs", plan.size()},
                                 {"values", attribute.values},
                                 {"out", args.out}}
              .dump(2) +
          "\n");
  } else {
    say(fmt::format("wrote {}: {} rows of {} with {} changed to each other value", args.out,
                    plan.size(), args.data, attribute.name));
  }
  return 0;
}

}  // namespace

void add_pairs(CLI::App& app) {
  auto args = std::make_shared<Args>();
  auto* cmd = app.add_subcommand(
      "pairs", "Rows with one attribute changed, for another program to score");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  cmd->add_option("--flip", args->attribute, "Attribute to change")->required();
  cmd->add_option("--value", args->values, "Only between these values; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("-o,--out", args->out, "Where to write the rows")->required();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer(R"(
The new columns fmd_row (number of the row in DATA, from 1), fmd_from and fmd_to stand in front.

Example
  fmd pairs test.csv --flip sex -o flipped.csv)");
  on_run(*cmd, [args] { return run(*args); });
}

}  // namespace fmd::cli
