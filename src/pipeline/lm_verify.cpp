#include "fmd/pipeline/lm_verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/beside.h"
#include "core/check.h"
#include "core/json.h"
#include "data/field_json.h"
#include "data/json_reader.h"
#include "fmd/core/hash.h"
#include "fmd/formats/safetensors.h"
#include "fmd/formats/undo.h"
#include "fmd/formats/write_model.h"
#include "fmd/language/edit_files.h"
#include "pipeline/lm_edit.h"
#include "pipeline/receipt.h"
#include "report/json_difference.h"

namespace fmd {
namespace {

namespace fs = std::filesystem;

Check check_lm_out(const Receipt& receipt) {
  Check check{.what = "model", .result = CheckResult::unchecked, .detail = ""};
  const std::string name = receipt.files.out.filename().string();
  if (!fs::exists(receipt.files.out)) {
    check.detail = name + " is not here: it must be beside the receipt";
    return check;
  }
  const std::string changed = receipt.changed_file();
  check.result = changed.empty() ? CheckResult::ok : CheckResult::differs;
  check.detail = changed.empty()
                     ? name + ": all files have the recorded sha256"
                     : changed + " has changed: its sha256 is not the recorded one";
  return check;
}

Check check_lm_undo(const Receipt& receipt) {
  Check check{.what = "undo", .result = CheckResult::unchecked, .detail = ""};
  for (const fs::path& file : {receipt.files.undo, receipt.files.out}) {
    if (fs::exists(file)) continue;
    check.detail = file.filename().string() + " is not here: it must be beside the receipt";
    return check;
  }
  try {
    const FileView bytes = FileView::open(receipt.files.undo);
    const std::vector<UndoneFile> undo = parse_undo(bytes.bytes());
    static_cast<void>(restored_files(FileSet::open(receipt.main()), undo));
    for (const UndoneFile& file : undo)
      if (!file.added)
        require_original(receipt, receipt.recorded_before(file.name), file.before);
    check.result = CheckResult::ok;
    check.detail = "restores the original; it has the recorded sha256";
  } catch (const Error& error) {
    check.result = CheckResult::differs;
    check.detail = error.what();
  }
  return check;
}

struct LmData {
  std::string role, name, sha256;
  fs::path file;  // empty: not found
};

std::vector<LmData> find_lm_data(const Receipt& receipt, const VerifyOptions& options,
                                 std::vector<Check>& checks) {
  std::vector<LmData> all;
  const nlohmann::json object = receipt.json;
  const JsonReader reader(object, receipt.name());
  for (const JsonReader& one : reader.objects("data")) {
    LmData data{one.text("role"), one.text("name"), one.text("sha256"), {}};
    Check check{.what = data.role, .result = CheckResult::unchecked, .detail = ""};
    for (const std::string& given : options.data)
      if (hex(sha256_file(given)) == data.sha256) data.file = given;
    if (data.file.empty() && is_plain_name(data.name)) {
      // A receipt comes from somebody else: no other path in it is opened.
      const fs::path near = receipt.files.receipt.parent_path() / data.name;
      std::error_code absent;
      if (fs::is_regular_file(fs::symlink_status(near, absent))) {
        if (hex(sha256_file(near)) == data.sha256)
          data.file = near;
        else
          check.result = CheckResult::differs;
      }
    }
    if (!data.file.empty()) check.result = CheckResult::ok;
    check.detail = check.result == CheckResult::ok ? data.name + " has the recorded sha256"
                   : check.result == CheckResult::differs
                       ? data.name + " has changed: its sha256 is not the recorded one"
                       : data.name + " is not beside the receipt: give it with --data FILE";
    checks.push_back(check);
    all.push_back(std::move(data));
  }
  return all;
}

LmDebiasOptions recorded_options(const JsonReader& receipt) {
  LmDebiasOptions options;
  read_fields(receipt.object("options"), fields(options));
  options.folds = std::min(options.folds, 1'000'000);
  return options;
}

Check check_original(const Receipt& receipt, const fs::path& folder) {
  Check check{.what = "original", .result = CheckResult::ok, .detail = ""};
  for (const ModelFileNote& file : receipt.model_files) {
    if (file.sha256_before.empty()) continue;
    const fs::path path = folder / file.name;
    if (fs::is_regular_file(path) && hex(sha256_file(path)) == file.sha256_before) continue;
    check.result = CheckResult::differs;
    check.detail = file.name + " in " + folder.filename().string() +
                   " is not the one that the edit was made from";
    return check;
  }
  check.detail = "all files have the recorded sha256";
  return check;
}

bool same_head(const LanguageModel& changed, const fs::path& folder,
               const VocabularyHead& again) {
  const auto head = SafetensorsHead::read(*InputFile::open(folder / changed.head().file));
  const std::string dtype = head.tensors.at(changed.head().weight_name).dtype;
  return changed.head().weight.rows() == again.weight.rows() &&
         changed.head().weight.cols() == again.weight.cols() &&
         tensor_bytes(changed.head().weight, dtype) == tensor_bytes(again.weight, dtype);
}

// Makes the edit again and measures it.
void check_again(const Receipt& receipt, const VerifyOptions& options,
                 const std::vector<LmData>& data, const Exec& exec, VerifyReport& report) {
  LmDebiasFiles files;
  files.model = options.model;
  for (const LmData& one : data)
    (one.role == "pairs"       ? files.pairs
     : one.role == "stereoset" ? files.stereoset
                               : files.text) = one.file;
  files.out = receipt.files.out;
  const nlohmann::json object = receipt.json;
  const JsonReader reader(object, receipt.name());
  Exec seeded = exec;
  seeded.seed = static_cast<std::uint64_t>(reader.count("seed"));
  const LmEdit work(files, recorded_options(reader), seeded);
  const LanguageModel changed = LanguageModel::open(receipt.files.out, {}, exec);
  const bool same = same_head(changed, receipt.files.out, work.new_head());
  report.checks.push_back({.what = "head",
                           .result = same ? CheckResult::ok : CheckResult::differs,
                           .detail = same ? "made again: the same numbers, bit by bit"
                                          : "made again, the head has other numbers",
                           .computed = true});
  LmDebiasReport measured = work.report();
  work.measure(changed, measured, seeded);
  const Json again = Json::parse(lm_receipt_json(measured, {}));
  JsonDifference found;
  for (const char* key :
       {"edit", "cross_fitted", "domains", "perplexity", "controls", "states_of_curvature"})
    add_differences(key, receipt.json.value(key, Json()), again.value(key, Json()),
                    options.tolerance, found);
  report.largest_difference = found.largest;
  report.checks.push_back(
      {.what = "figures",
       .result = found.differing == 0 ? CheckResult::ok : CheckResult::differs,
       .detail = found.differing == 0
                     ? fmt::format("{} numbers measured again agree", found.compared)
                     : found.first,
       .computed = true});
}

}  // namespace

bool is_lm_receipt(const fs::path& path) {
  if (!path.string().ends_with(".receipt.json")) return false;
  return read_receipt(path).json.value("command", Json()) == "lm debias";
}

VerifyReport lm_verify(const fs::path& path, const VerifyOptions& options,
                       const Exec& exec) {
  require_option(options.tolerance > 0, "verify", "tolerance", options.tolerance, "> 0");
  const Receipt receipt = read_receipt(path);
  VerifyReport report;
  report.receipt = path.string();
  report.out = receipt.files.out.string();
  const nlohmann::json object = receipt.json;
  const JsonReader reader(object, receipt.name());
  report.written = reader.object("run").text("date");
  report.version = reader.object("versions").text("fmd");
  report.kernel = "not recorded";
  report.tolerance = options.tolerance;
  report.checks.push_back(check_lm_out(receipt));
  report.checks.push_back(check_lm_undo(receipt));
  const std::vector<LmData> data = find_lm_data(receipt, options, report.checks);
  const bool complete = fs::exists(receipt.files.out) &&
                        std::none_of(data.begin(), data.end(),
                                     [](const LmData& d) { return d.file.empty(); });
  if (options.model.empty() || !complete) {
    report.checks.push_back(
        {.what = "figures",
         .result = CheckResult::unchecked,
         .detail = complete ? "give the original with --model to make the edit again"
                            : "not all files are here"});
    return report;
  }
  report.checks.push_back(check_original(receipt, options.model));
  if (report.checks.back().result == CheckResult::ok)
    check_again(receipt, options, data, exec, report);
  return report;
}

}  // namespace fmd
