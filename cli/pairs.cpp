#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/output_files.h"
#include "fmd/data/pair_plan.h"
#include "fmd/pipeline/match_plan.h"

namespace fmd::cli {
namespace {

struct PairsArgs {
  Common common;
  TaskOverrides match;  // label, match columns, caliper, reuse
  std::string data, attribute, matched, by, out;
  std::vector<std::string> values;
  bool force = false;
};

// What the flags and task.toml say about the attribute.
struct Wanted {
  Task task;
  AttributeSpec spec;
  CsvOptions csv;
};

Wanted read_wanted(const PairsArgs& args) {
  const std::string& name = args.matched.empty() ? args.attribute : args.matched;
  Wanted wanted;
  TaskOverrides file;
  if (!args.common.task_file.empty()) file = read_task(args.common.task_file);
  wanted.task = merge({}, file);
  wanted.csv = csv_options(wanted.task);
  const AttributeSpec* known = wanted.task.find(name);
  wanted.spec = known != nullptr ? *known : AttributeSpec{.name = name, .columns = {name}};
  if (!args.values.empty()) wanted.spec.values = args.values;
  if (args.matched.empty()) return wanted;
  // Only this attribute, matched in the way that the flags name.
  Task one = wanted.task;
  one.attributes = {wanted.spec};
  TaskOverrides flags = args.match;
  if (!args.by.empty() || !is_match(wanted.spec))
    flags.pairs = args.by.empty() ? "match" : "match:" + args.by;
  one = merge(one, flags);
  if (!one.label.empty()) wanted.csv.types[one.label] = ColumnKind::category;
  wanted.spec = one.attributes.at(0);
  wanted.task = std::move(one);
  return wanted;
}

void report(const PairsArgs& args, const Table& table, const Attribute& attribute,
            Index pairs, const std::string& words) {
  if (args.common.json) {
    print(nlohmann::ordered_json{{"schema", 1},
                                 {"command", "pairs"},
                                 {"rows", table.rows()},
                                 {"pairs", pairs},
                                 {"values", attribute.values},
                                 {"out", args.out}});
  } else {
    say(fmt::format("wrote {}: {}", args.out, words));
  }
}

int write_matches(const PairsArgs& args, OutputFiles& files, Wanted& wanted) {
  const Session session(args.common);
  const Table table = read_data(args.data, wanted.csv);
  Task& task = wanted.task;
  if (!task.label.empty() && task.classes.empty())
    task.classes = label_classes(table, task.label, "");
  const Attribute attribute = read_attribute(table, wanted.spec);
  const MatchPlan plan = match_plan(table, task, attribute, wanted.spec, session.exec());
  if (plan.size() == 0) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: {} has no matched pair: {}", args.data, attribute.name,
                            plan.reason),
                "give more rows, a wider --caliper, or more --reuse");
  }
  files.write(args.out, to_csv(match_table(plan, attribute)));
  files.commit();
  report(args, table, attribute, plan.size(),
         fmt::format("{} matched pairs of {} rows of {}, by {}", plan.size(), plan.rows,
                     args.data, plan.by));
  return 0;
}

int run_pairs(const PairsArgs& args) {
  if (args.attribute.empty() == args.matched.empty()) {
    throw Error(ErrorKind::bad_option, "pairs: give --flip ATTRIBUTE or --match ATTRIBUTE",
                "fmd pairs test.csv --flip sex -o flipped.csv");
  }
  OutputFiles files({.force = args.force, .standard = standard_output(args.common)});
  files.reserve(args.out);
  Wanted wanted = read_wanted(args);
  if (!args.matched.empty()) return write_matches(args, files, wanted);
  const Table table = read_data(args.data, wanted.csv);
  const Attribute attribute = read_attribute(table, wanted.spec);
  const PairPlan plan = flip_plan(attribute);
  files.write(args.out, to_csv(flipped_table(table, attribute, plan)));
  files.commit();
  report(args, table, attribute, plan.size(),
         fmt::format("{} rows of {} with {} changed to each other value", plan.size(),
                     args.data, attribute.name));
  return 0;
}

}  // namespace

void add_pairs(CLI::App& app) {
  auto args = std::make_shared<PairsArgs>();
  auto* cmd = app.add_subcommand(
      "pairs", "Write rows with one attribute changed, or rows matched with similar rows");
  cmd->add_option("data", args->data, "CSV (also .gz), NPY or Parquet file, or data:NAME")
      ->required();
  cmd->add_option("--flip", args->attribute, "Attribute to change");
  cmd->add_option("--match", args->matched,
                  "Attribute whose rows are matched with rows of another value");
  cmd->add_option("--by", args->by, "match: the distance: overlap, mahalanobis or cosine")
      ->check(CLI::IsMember({"overlap", "mahalanobis", "cosine"}));
  cmd->add_option("--label", args->match.label,
                  "match: column with the label; partners have the same label");
  add_match_options(*cmd, args->match);
  cmd->add_option("--value", args->values,
                  "Change or match only between these values; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("-o,--out", args->out, "Where to write the rows")->required();
  cmd->add_flag("--force", args->force, "Replace OUT if it exists");
  add_common(*cmd, args->common);
  cmd->footer(R"(
--flip: new columns come first: fmd_row (number of the row in DATA, from 1), fmd_from and fmd_to.
--match: one line for each pair, with fmd_row, fmd_partner, fmd_from, fmd_to and fmd_quality (1 = the
same in the columns that were compared).

Examples
  fmd pairs test.csv --flip sex -o flipped.csv
  fmd pairs test.csv --match sex --label income -o matched.csv
  fmd pairs test.csv --match sex --label income --match-columns age --match-columns job -o matched.csv)");
  on_run(*cmd, [args] { return run_pairs(*args); });
}

}  // namespace fmd::cli
