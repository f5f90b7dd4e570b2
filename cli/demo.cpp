#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/explain.h"
#include "fmd/pipeline/train_model.h"

namespace fmd::cli {
namespace {

namespace fs = std::filesystem;

struct DemoArgs {
  Common common;
  std::string folder = "fmd-demo";
};

struct Parts {
  Table train, repair, measure;
};

// 15,000 / 5,000 / 10,000 rows, stratified by label and sex. They are also written, so that
// the next command can use them.
Parts split_demo(const Table& table, const Task& task, const fs::path& folder,
                 std::uint64_t seed) {
  const std::vector<std::int32_t> y = labels(table, task);
  const Attribute sex = read_attribute(table, *task.find("sex"));
  std::vector<std::int32_t> stratum;
  for (std::size_t i = 0; i < y.size(); ++i) stratum.push_back(y[i] * 2 + sex.code[i]);
  const std::vector<Part> shares = {
      {"train", 0.5}, {"repair", 1.0 / 6}, {"measure", 1.0 / 3}};
  const auto rows = split_rows(stratum, shares, seed);
  Parts parts{select(table, rows[0]), select(table, rows[1]), select(table, rows[2])};
  parts.train.source = "train.csv";
  parts.repair.source = "repair.csv";
  parts.measure.source = "measure.csv";
  for (const Table* part : {&parts.train, &parts.repair, &parts.measure})
    write_file(folder / part->source, to_csv(*part), true);
  return parts;
}

// Where the flip gap comes from. The change of every row goes to influence.csv.
Explanation explain_demo(const Model& model, const Parts& parts, const fs::path& folder,
                         const Exec& exec) {
  ExplainOptions options;
  options.measures = {"co:sex"};
  options.check = 100;
  const auto study = [&](const Table& table) {
    return make_study(model, table, model.task, true, exec);
  };
  Explanation explained =
      explain(model, study(parts.measure), study(parts.train), options, exec);
  explained.report.model = "income.safetensors";
  OutputFiles files({.force = true});
  const fs::path out = folder / "influence.csv";
  explained.write_csv([&](std::string_view text) { files.append(out, text); }, exec);
  files.commit();
  return explained;
}

AuditReport audit_demo(const Model& model, const Table& table, const Exec& exec) {
  const Study study = make_study(model, table, model.task, true, exec);
  const auto pairs = make_pairs(model, study, model.task, {}, exec);
  AuditOptions options;
  options.intersections = options.by_name = false;
  return audit_model(model, study, pairs, options, exec);
}

int run_demo(const DemoArgs& args) {
  const Session session(args.common);
  const Exec& exec = session.exec();
  const fs::path folder = args.folder;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    throw Error(ErrorKind::cannot_write,
                fmt::format("demo: the folder {} cannot be made: {}", args.folder,
                            failed.message()),
                "choose another one: fmd demo -o FOLDER");
  }
  exec.report("reading the built-in table", 0, 0);
  const Dataset& set = find_dataset("demo");
  const Table table = load_dataset("demo", data_folder());
  const Parts parts = split_demo(table, set.task, folder, args.common.seed);
  const Model model = train_model(parts.train, set.task, "", {}, exec).model;
  const Bytes bytes = model_bytes(model);
  const fs::path model_file = folder / "income.safetensors";
  write_file(model_file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);

  const AuditReport audit = audit_demo(model, parts.measure, exec);
  const Explanation explained = explain_demo(model, parts, folder, exec);
  DebiasInput input{.model = model,
                    .model_name = "income.safetensors",
                    .data = parts.repair,
                    .data_sha256 = file_sha256((folder / "repair.csv").string()),
                    .holdout = {},
                    .train = parts.train,
                    .test = parts.measure,
                    .holdout_sha256 = "",
                    .train_sha256 = file_sha256((folder / "train.csv").string()),
                    .test_sha256 = file_sha256((folder / "measure.csv").string())};
  DebiasOptions options;
  options.repair = {"sex"};
  options.audit.intersections = false;
  const DebiasRun repair(std::move(input), options, exec);
  RunNote note{.date = now_utc(),
               .seconds = session.seconds(),
               .cpu_seconds = Session::cpu_seconds()};
  const DebiasReport report = save_debias(repair, bytes, folder / "repaired.safetensors",
                                          {.force = true, .run = note});
  if (args.common.json) {
    const nlohmann::ordered_json json = {
        {"schema", 1},
        {"command", "demo"},
        {"audit", nlohmann::ordered_json::parse(to_json(audit))},
        {"explain", nlohmann::ordered_json::parse(to_json(explained.report))},
        {"receipt",
         nlohmann::ordered_json::parse(
             FileView::open(folder / "repaired.safetensors.receipt.json").text())},
        {"folder", args.folder},
        {"seconds", session.seconds()}};
    print(json.dump(2) + "\n");
    return 0;
  }
  std::string out = fmt::format(
      "data   ACSIncome 2018, a built-in sample of {} US workers (US Census)\nmodel  "
      "logistic regression: income above $50,000? Reads {} columns, sex and\n       race "
      "among them. Says yes at p >= {:.2f}.\nrows   {} train, {} repair, {} measure; no "
      "row is used twice\n\n",
      with_commas(table.rows()), model.backbone->encoder().columns().size(),
      model.task.threshold, with_commas(parts.train.rows()),
      with_commas(parts.repair.rows()), with_commas(parts.measure.rows()));
  out += "1 AUDIT    change only the column \"sex\" of a row: what happens?\n";
  out += audit_table(audit, "sex");
  out += "  Intervals: other rows could have been drawn; the model is held fixed.\n";
  out +=
      fmt::format("\n2 EXPLAIN  where does the flip gap come from?   ({} training rows)\n",
                  with_commas(parts.train.rows()));
  out += explain_table(explained.report, 0);
  out += fmt::format("  A strong row is not a wrong row. All rows: {}/influence.csv\n",
                     args.folder);
  out += fmt::format(
      "\n3 REPAIR   {}, chosen on the\n           {} repair rows; figures below from the "
      "{} others\n",
      report.rule, with_commas(parts.repair.rows()), with_commas(parts.measure.rows()));
  out += repair_table(report);
  out += "\nWHAT THIS DOES NOT SAY\n" + caveats(report);
  out += fmt::format(
      "\nfiles  {0}/{{income,repaired}}.safetensors, influence.csv,\n       "
      "{{train,repair,measure}}.csv,\n       "
      "repaired.safetensors.{{receipt.json,undo,path.json,path.safetensors}}\nback   fmd "
      "undo {0}/repaired.safetensors.receipt.json -o MODEL\nnext   fmd train YOUR.csv "
      "--label COL --positive VALUE --attribute COL -o MODEL\n{1:.1f} s, no network, seed "
      "{2}\n",
      args.folder, session.seconds(), args.common.seed);
  print(out);
  return 0;
}

}  // namespace

void add_demo(CLI::App& app) {
  auto args = std::make_shared<DemoArgs>();
  auto* cmd = app.add_subcommand(
      "demo", "Train, audit, explain and repair on a built-in table, in seconds");
  cmd->add_option("-o,--out", args->folder, "Folder for the files of the demo")
      ->capture_default_str();
  add_common(*cmd, args->common);
  cmd->footer("\nExample\n  fmd demo");
  on_run(*cmd, [args] { return run_demo(*args); });
}

}  // namespace fmd::cli
