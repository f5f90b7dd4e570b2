#include "fmd/pipeline/verify.h"

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/formats/model_file.h"
#include "pipeline/receipt.h"
#include "pipeline/verify_figures.h"

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
  if (hex(sha256_file(receipt.files.out)) != receipt.sha256_after) {
    check.result = CheckResult::differs;
    check.detail = name + " has changed: its sha256 is not the recorded one";
    return check;
  }
  check.result = CheckResult::ok;
  check.detail = name + " has the recorded sha256";
  after = open_model(receipt.files.out, formats);
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
    const std::filesystem::path place = receipt.files.out.parent_path() / "the original";
    before = open_model_file(FileSet::in_memory(place, {{"", restore_original(receipt)}}),
                             formats)
                 ->model();
    check.result = CheckResult::ok;
    check.detail = "restores the original; it has the recorded sha256";
  } catch (const Error& error) {
    check.result = CheckResult::differs;
    check.detail = error.what();
  }
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
  for (const FoundFile& found : files) report.checks.push_back(check_table(found));
  verify_figures(receipt, files, std::move(before), std::move(after), options, exec,
                 report);
  return report;
}

}  // namespace fmd
