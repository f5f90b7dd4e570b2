#include "fmd/pipeline/verify_audit.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/beside.h"
#include "core/check.h"
#include "core/json.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/audit.h"
#include "report/json_difference.h"

namespace fmd {
namespace {

constexpr const char* kNoAudit = "this is not an audit of a model";
constexpr const char* kNameAudit = "name the JSON that `fmd audit MODEL DATA -o` wrote";

Json audit_text(const std::filesystem::path& path) {
  return parse_json<Json>(FileView::open(path, kMostJson).text(), path.string(),
                          ErrorKind::bad_model, kNoAudit, kNameAudit);
}

// A file of the audit: the one that was named, or one beside it with the recorded name.
struct AuditedFile {
  std::string file;  // empty: none that can be used
  Check check;
};

AuditedFile find_audited(const std::filesystem::path& audit, const Json& note,
                         const std::string& what, const std::string& given) {
  AuditedFile found{
      .file = "", .check = {.what = what, .result = CheckResult::unchecked, .detail = ""}};
  const std::string name =
      std::filesystem::path(note.value("name", "")).filename().string();
  std::string file = given;
  if (file.empty() && is_plain_name(name)) {
    const std::filesystem::path near = audit.parent_path() / name;
    std::error_code absent;
    if (std::filesystem::is_regular_file(std::filesystem::symlink_status(near, absent)))
      file = near.string();
  }
  if (file.empty()) {
    found.check.detail =
        fmt::format("{} is not beside the audit: give it with --{} FILE", name, what);
    return found;
  }
  const std::string own = std::filesystem::path(file).filename().string();
  if (!note.contains("sha256") || !note["sha256"].is_string()) {
    found.check.detail = fmt::format("{}.sha256 is not recorded", what);
  } else if (hex(sha256_file(file)) == note["sha256"]) {
    found.file = file;
    found.check.result = CheckResult::ok;
    found.check.detail = own + " has the recorded sha256";
  } else {
    found.check.result = CheckResult::differs;
    found.check.detail =
        fmt::format("{} is another file: its sha256 is not {}.sha256", own, what);
  }
  return found;
}

AuditOptions options_of(const Json& audit, const std::string& source) {
  const nlohmann::json object = audit;
  const JsonReader in(object, source);
  AuditOptions options;
  options.confidence = in.number("confidence");
  options.replicates = static_cast<Index>(in.number("replicates"));
  options.permutations = static_cast<Index>(in.number("permutations"));
  require_option(options.confidence >= 0.5 && options.confidence < 1, "verify",
                 "confidence", options.confidence, "from 0.5 to below 1");
  for (const Index count : {options.replicates, options.permutations})
    require_option(count >= 0 && count <= 1000000, "verify", "replicates, permutations",
                   count, "at most 1000000");
  options.intervals =
      audit.value("intervals", Json()) == "bca" ? Bootstrap::bca : Bootstrap::percentile;
  options.weighted = audit.contains("weight");
  options.include_rows = audit.value("include_rows", Json()) == Json(true);
  options.round = audit.contains("round") ? in.count("round") : 0;
  if (audit.contains("warnings"))
    for (const JsonReader& warning : in.objects("warnings"))
      if (warning.flag("allowed")) options.allow.push_back(warning.text("name"));
  if (audit.contains("consistency") && audit["consistency"].contains("neighbours"))
    options.neighbours = audit["consistency"]["neighbours"].get<Index>();
  return options;
}

// Without what no file can show again: names of files, the version, what was said on the
// way, the ledger's count, and the comparison with another audit.
Json claims_of_audit(Json audit) {
  for (const char* key : {"version", "notes", "ledger", "baseline", "refits"})
    audit.erase(key);
  for (const char* key : {"model", "data"})
    if (audit.contains(key) && audit[key].is_object()) audit[key].erase("name");
  return audit;
}

Json measured_again(const Json& audit, const std::filesystem::path& path,
                    const std::string& model_file, const std::string& data_file,
                    const VerifyOptions& options, const Exec& exec) {
  AuditOptions wanted = options_of(audit, path.string());
  Model model = open_model(model_file, options.formats);
  if (!model.task.label.empty()) wanted.model_threshold = model.task.threshold;
  Task task = task_from_json(audit.value("task", Json()).dump(), path.string());
  for (AttributeSpec& spec : task.attributes) spec.stored_in.file = path;
  set_task(model, std::move(task), options.inputs);
  Exec own = exec;
  const nlohmann::json object = audit;
  const JsonReader in(object, path.string());
  if (!object.contains("seed") || !object["seed"].is_number_unsigned())
    in.fail("\"seed\" must be a whole number >= 0");
  own.seed = object["seed"].get<std::uint64_t>();
  wanted.task.inputs = options.inputs;
  AuditReport report =
      fmd::audit(ModelInMemory(std::move(model)),
                 DataSource::file(data_file, options.data_folder), wanted, own);
  report.model = "model";  // files were compared by their sha256
  report.model_sha256 = audit["model"].value("sha256", "");
  report.data_sha256 = audit["data"].value("sha256", "");
  return Json::parse(to_json(report));
}

Check compare_part(const std::string& what, const std::vector<std::string>& keys,
                   const Json& claimed, const Json& now, VerifyReport& report) {
  JsonDifference found;
  for (const std::string& key : keys)
    add_differences(key, claimed.value(key, Json()), now.value(key, Json()),
                    report.tolerance, found);
  report.largest_difference = std::max(report.largest_difference, found.largest);
  const std::string more =
      found.differing > 1 ? fmt::format("; {} more", found.differing - 1) : "";
  return {
      .what = what,
      .result = found.differing == 0 ? CheckResult::ok : CheckResult::differs,
      .detail = found.differing == 0
                    ? fmt::format("{} number{}, largest difference {:.1g}", found.compared,
                                  found.compared == 1 ? "" : "s", found.largest)
                    : found.first + more,
      .computed = true};
}

void compare_all(const Json& claimed, const Json& now, VerifyReport& report) {
  const std::vector<std::string> limits = {"limits", "verdict"};
  std::vector<std::string> figures;
  for (const Json& json : {claimed, now})
    for (const auto& [key, value] : json.items())
      if (std::find(limits.begin(), limits.end(), key) == limits.end() &&
          std::find(figures.begin(), figures.end(), key) == figures.end())
        figures.push_back(key);
  report.checks.push_back(compare_part("figures", figures, claimed, now, report));
  report.checks.push_back(compare_part("limits", limits, claimed, now, report));
}

}  // namespace

bool is_audit(const std::filesystem::path& path) {
  if (path.string().ends_with(".receipt.json")) return false;
  const FileView file = FileView::open(path, kMostJson);
  const Json json = Json::parse(file.text(), nullptr, false);
  return json.is_object() && json.value("command", Json()) == "audit";
}

VerifyReport verify_audit(const std::filesystem::path& path, const VerifyOptions& options,
                          const Exec& exec) {
  require_option(options.tolerance > 0, "verify", "tolerance", options.tolerance, "> 0");
  const Json audit = audit_text(path);
  if (!audit.is_object() || !audit.value("model", Json()).is_object() ||
      !audit.value("data", Json()).is_object())
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", path.string(), kNoAudit),
                kNameAudit);
  if (audit.value("schema", Json()) != 1)
    throw Error(
        ErrorKind::bad_model,
        fmt::format("{}: this version of fmd reads audits of schema 1", path.string()),
        "use the version of fmd that wrote the audit, or a newer one");
  VerifyReport report;
  report.receipt = path.string();
  report.out = audit["model"].value("name", "");
  report.written = "unknown";
  report.version = audit.value("version", "unknown");
  report.kernel = "unknown";
  report.tolerance = options.tolerance;
  const AuditedFile model = find_audited(path, audit["model"], "model", options.model);
  const AuditedFile data = find_audited(path, audit["data"], "data",
                                        options.data.empty() ? "" : options.data[0]);
  report.checks = {model.check, data.check};
  if (model.file.empty() || data.file.empty()) {
    report.checks.push_back({"figures", CheckResult::unchecked,
                             "the model and the table are needed, see above", true});
    return report;
  }
  try {
    compare_all(
        claims_of_audit(audit),
        claims_of_audit(measured_again(audit, path, model.file, data.file, options, exec)),
        report);
  } catch (const Error& error) {
    report.checks.push_back({"figures", CheckResult::differs,
                             fmt::format("cannot be made again: {}", error.what()), true});
  }
  return report;
}

}  // namespace fmd
