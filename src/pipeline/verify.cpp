#include "fmd/pipeline/verify.h"

#include <fmt/format.h>

#include "core/check.h"
#include "core/json.h"
#include "data/json_reader.h"
#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/write_model.h"
#include "pipeline/receipt.h"
#include "pipeline/verify_figures.h"
#include "report/json_difference.h"

namespace fmd {
namespace {

std::string text_at(const Json& json, const char* block, const char* key) {
  if (!json.contains(block) || !json[block].is_object() || !json[block].contains(key) ||
      !json[block][key].is_string())
    return "unknown";
  return json[block][key].get<std::string>();
}

Check check_out(const Receipt& receipt, const ModelFormats& formats,
                std::optional<Model>& after) {
  Check check{.what = "model", .result = CheckResult::unchecked, .detail = ""};
  const std::string name = receipt.files.out.filename().string();
  if (!std::filesystem::exists(receipt.files.out)) {
    check.detail = name + " is not here: it must be beside the receipt";
    return check;
  }
  if (const std::string changed = receipt.changed_file(); !changed.empty()) {
    check.result = CheckResult::differs;
    check.detail =
        changed + " has changed: its sha256 is not model.sha256_after of the receipt";
    return check;
  }
  check.result = CheckResult::ok;
  check.detail = name + " has the recorded sha256";
  after = open_model(receipt.main(), formats);
  return check;
}

Check check_undo(const Receipt& receipt, const ModelFormats& formats,
                 std::optional<Model>& before) {
  Check check{.what = "undo", .result = CheckResult::unchecked, .detail = ""};
  for (const auto& file : {receipt.files.undo, receipt.files.out}) {
    if (std::filesystem::exists(file)) continue;
    check.detail = file.filename().string() + " is not here: it must be beside the receipt";
    return check;
  }
  try {
    const FileView bytes = FileView::open(receipt.files.undo);
    const std::vector<UndoneFile> undo = parse_undo(bytes.bytes());
    FileSet restored = restored_files(FileSet::open(receipt.main()), undo);
    for (const UndoneFile& file : undo)
      if (!file.added)
        require_original(receipt, receipt.recorded_before(file.name), file.before);
    before = open_model_file(std::move(restored), formats)->model();
    check.result = CheckResult::ok;
    check.detail = "restores the original; it has the recorded sha256";
  } catch (const Error& error) {
    check.result = CheckResult::differs;
    check.detail = error.kind() == ErrorKind::wrong_model
                       ? std::string(error.what()) + " (sha256_before)"
                       : error.what();
  }
  return check;
}

// OUT.path.json has the settings too. What changes no figure cannot be recomputed: the two
// files must say the same.
Check check_settings(const Receipt& receipt, double tolerance) {
  Check check{.what = "settings", .result = CheckResult::unchecked, .detail = ""};
  const std::string name = receipt.files.path.filename().string();
  if (!std::filesystem::exists(receipt.files.path)) {
    check.detail = name + " is not here: it must be beside the receipt";
    return check;
  }
  const Json path = parse_json<Json>(FileView::open(receipt.files.path, kMostJson).text(),
                                     name, ErrorKind::bad_model, "this is no path file",
                                     "keep the files of a repair together");
  if (!path.is_object() || !path.contains("options") || !path.contains("task")) {
    check.detail = name + " has no settings: an earlier version of fmd wrote it";
    return check;
  }
  JsonDifference found;
  for (const char* key : {"seed", "options", "task", "repaired"})
    add_differences(key, receipt.json.value(key, Json()), path.value(key, Json()),
                    tolerance, found);
  check.result = found.differing == 0 ? CheckResult::ok : CheckResult::differs;
  check.detail = found.differing == 0
                     ? "seed, options and task are those in " + name
                     : fmt::format("{} has other settings: {}", name, found.first);
  return check;
}

Check check_table(const FoundFile& found) {
  const bool plain = found.note.role.starts_with("edit");
  return {.what = plain ? "data" : "data, " + found.note.role,
          .result = found.hash,
          .detail = found.detail};
}

}  // namespace

VerifyReport verify(const std::filesystem::path& path, const VerifyOptions& options,
                    const Exec& exec) {
  require_option(options.tolerance > 0, "verify", "tolerance", options.tolerance, "> 0");
  const Receipt receipt = read_receipt(path);
  const std::vector<FoundFile> files = find_files(receipt, options);
  VerifyReport report;
  report.receipt = path.string();
  report.out = receipt.files.out.string();
  report.written = text_at(receipt.json, "run", "date");
  report.version = text_at(receipt.json, "versions", "fmd");
  report.kernel = text_at(receipt.json, "versions", "cpu_kernel");
  report.tolerance = options.tolerance;
  std::optional<Model> before, after;
  report.checks.push_back(check_out(receipt, options.formats, after));
  report.checks.push_back(check_undo(receipt, options.formats, before));
  report.checks.push_back(check_settings(receipt, options.tolerance));
  for (const FoundFile& found : files) report.checks.push_back(check_table(found));
  verify_figures(receipt, files, std::move(before), std::move(after), options, exec,
                 report);
  return report;
}

}  // namespace fmd
