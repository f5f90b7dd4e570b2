#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/rows_file.h"
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
  Explanation explained = explain(ModelInMemory(model), DataSource::table(parts.measure),
                                  DataSource::table(parts.train), options, exec);
  explained.report.model = "income.safetensors";
  OutputFiles files({.force = true});
  const fs::path out = folder / "influence.csv";
  explained.write_csv([&](std::string_view text) { files.append(out, text); }, exec);
  files.commit();
  return explained;
}

AuditReport audit_demo(const Model& model, const Table& table, const Exec& exec) {
  AuditOptions options;
  options.intersections = options.by_name = false;
  return audit(ModelInMemory(model), DataSource::table(table), options, exec);
}

Sheet demo_sheet(const Parts& parts, const Model& model, const AuditReport& audit,
                 const ExplainReport& explained, const DebiasReport& repaired,
                 const std::string& folder) {
  Sheet sheet;
  SheetSection& top = sheet.add();
  top.line("data   ", fmt::format("ACSIncome 2018, a built-in sample of {} US workers (US "
                                  "Census)",
                                  with_commas(parts.train.rows() + parts.repair.rows() +
                                              parts.measure.rows())));
  top.line("model  ",
           fmt::format("logistic regression: income above $50,000? Reads {} columns, sex "
                       "and race among them. Says yes at p >= {:.2f}.",
                       model.backbone->inputs().columns.size(), model.task.threshold));
  top.line("rows   ",
           fmt::format("{} train, {} repair, {} measure; no row is used twice",
                       with_commas(parts.train.rows()), with_commas(parts.repair.rows()),
                       with_commas(parts.measure.rows())));
  const auto add = [&](std::string title, std::string about, SheetSection section) {
    section.title = std::move(title);
    section.about = std::move(about);
    sheet.sections.push_back(std::move(section));
  };
  add("1 AUDIT   ", "change only the column \"sex\" of a row: what happens?",
      audit_table(audit, "sex"));
  sheet.sections.back().line(
      "  ", "Intervals: other rows could have been drawn; the model is held fixed.");
  add("2 EXPLAIN ",
      fmt::format("where does the flip gap come from?   ({} training rows)",
                  with_commas(parts.train.rows())),
      explain_table(explained, 0));
  sheet.sections.back().line(
      "  ",
      fmt::format("A strong row is not a wrong row. All rows: {}/influence.csv", folder));
  add("3 REPAIR  ",
      fmt::format("{}, chosen on the {} repair rows; figures below from the {} others",
                  repaired.rule, with_commas(parts.repair.rows()),
                  with_commas(parts.measure.rows())),
      repair_table(repaired));
  sheet.add("WHAT THIS DOES NOT SAY").line("  ", caveats(repaired));
  return sheet;
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
  const Bytes known = rows_bytes(model.note.row_hashes);
  write_file(rows_file_of(model_file),
             {reinterpret_cast<const char*>(known.data()), known.size()}, true);

  const AuditReport audit = audit_demo(model, parts.measure, exec);
  const Explanation explained = explain_demo(model, parts, folder, exec);
  const auto rows = [&](const Table& part) {
    return DataSource::table(part, file_sha256((folder / part.source).string()));
  };
  DebiasOptions options;
  options.train = rows(parts.train);
  options.test = rows(parts.measure);
  options.repair = {"sex"};
  options.audit.intersections = false;
  options.save = {.out = folder / "repaired.safetensors", .force = true, .date = now_utc()};
  const DebiasReport report =
      debias(*open_model_file(model_file), rows(parts.repair), options, exec).report;
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
    print(json);
    return 0;
  }
  std::string out =
      screen(demo_sheet(parts, model, audit, explained.report, report, args.folder));
  out += fmt::format(
      "\nfiles  {0}/{{income,repaired}}.safetensors, influence.csv,\n       "
      "{{train,repair,measure}}.csv,\n       "
      "repaired.safetensors.{{receipt.json,undo,path.json,path.safetensors}}\nback   fmd "
      "undo {0}/repaired.safetensors.receipt.json -o MODEL\nnext   fmd train YOUR.csv "
      "--label COL --positive VALUE --attribute COL -o MODEL\n{1:.1f} s, no network, seed "
      "{2}\n",
      safe_text(args.folder), session.seconds(), args.common.seed);
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
