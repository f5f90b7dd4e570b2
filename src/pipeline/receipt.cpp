#include "fmd/pipeline/receipt.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/beside.h"
#include "core/json.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/rows_file.h"
#include "fmd/formats/undo.h"
#include "fmd/formats/write_model.h"
#include "pipeline/receipt.h"

namespace fmd::internal {
namespace {

constexpr std::string_view kEnding = ".receipt.json";

std::filesystem::path out_of(const std::filesystem::path& receipt) {
  const std::string name = receipt.string();
  if (!name.ends_with(kEnding)) {
    throw Error(ErrorKind::bad_option, fmt::format("{} is not a receipt", name),
                "name the file that ends in .receipt.json beside the repaired model");
  }
  return name.substr(0, name.size() - kEnding.size());
}

// Of the tables; those of repair_parts.cpp.
constexpr std::array<std::string_view, 7> kRoles = {
    "edit and hold-out", "edit", "hold-out", "train", "test", "groups", "pairs"};

constexpr const char* kTogether = "keep the files of a model together";

std::vector<ModelFileNote> read_model_files(const JsonReader& model) {
  std::vector<ModelFileNote> files;
  for (const JsonReader& one : model.objects("files")) {
    ModelFileNote file;
    file.name = one.text("name");
    if (!is_plain_name(file.name)) one.fail("a file has no plain name");
    if (one.has("sha256_before")) file.sha256_before = one.text("sha256_before");
    file.sha256_after = one.text("sha256_after");
    files.push_back(std::move(file));
  }
  if (files.size() < 2 || files[0].sha256_before.empty())
    model.fail("its files are not those of a model of several files");
  return files;
}

}  // namespace

Receipt parse_receipt(std::string_view text, const std::filesystem::path& path) {
  Receipt receipt{.files = DebiasFiles(out_of(path)),
                  .json = parse_json<Json>(text, path.string(), ErrorKind::bad_model,
                                           "this is not an fmd receipt",
                                           "name the receipt that `fmd debias` wrote"),
                  .sha256_before = "",
                  .sha256_after = "",
                  .model_files = {}};
  const Json& json = receipt.json;
  if (!json.is_object() || !json.contains("model") || !json["model"].is_object()) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: this is not an fmd receipt", path.string()),
                "name the receipt that `fmd debias` wrote");
  }
  // A later schema may mean other things by the same keys.
  if (!json.contains("schema") || (json["schema"] != 1 && json["schema"] != 2)) {
    throw Error(
        ErrorKind::bad_model,
        fmt::format("{}: this version of fmd reads receipts of schema 1 and 2, not {}",
                    path.string(),
                    json.contains("schema") ? json["schema"].dump() : "none"),
        "use the version of fmd that wrote the receipt, or a newer one");
  }
  if (json["schema"] == 1 && json.contains("overlaps"))
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: schema 1 has no overlaps", path.string()),
                "the receipt was changed after the repair");
  const nlohmann::json object = json["model"];
  const JsonReader model(object, path.string() + ", model");
  receipt.sha256_before = model.text("sha256_before");
  receipt.sha256_after = model.text("sha256_after");
  if (model.has("files")) receipt.model_files = read_model_files(model);
  return receipt;
}

Receipt read_receipt(const std::filesystem::path& path) {
  recover(out_of(path));
  Receipt receipt = parse_receipt(FileView::open(path, kMostJson).text(), path);
  const DebiasFiles& files = receipt.files;
  for (const auto& file : {files.out, files.undo, files.path, files.path_tensors})
    static_cast<void>(found_file(file, ErrorKind::bad_model));
  return receipt;
}

std::vector<DataNote> Receipt::data() const {
  std::vector<DataNote> notes;
  const nlohmann::json object = json;
  const JsonReader reader(object, name());
  for (const JsonReader& one : reader.objects("data")) {
    DataNote note;
    note.role = one.text("role");
    if (std::find(kRoles.begin(), kRoles.end(), note.role) == kRoles.end())
      one.fail(fmt::format("role is \"{}\", must be one of {}", note.role,
                           fmt::join(kRoles, ", ")));
    note.name = one.text("name");
    if (one.has("sha256")) note.sha256 = one.text("sha256");
    if (one.has("key")) note.key = one.text("key");
    notes.push_back(std::move(note));
  }
  return notes;
}

std::filesystem::path Receipt::main() const {
  return model_files.empty() ? files.out : files.out / model_files[0].name;
}

std::string Receipt::recorded_before(const std::string& name) const {
  if (name.empty()) return sha256_before;
  for (const ModelFileNote& file : model_files)
    if (file.name == name) return file.sha256_before;
  return "";
}

std::string Receipt::changed_file() const {
  const auto differs = [](const std::filesystem::path& path, const std::string& recorded) {
    return recorded != hex(sha256_file(path));
  };
  if (model_files.empty())
    return differs(files.out, sha256_after) ? files.out.filename().string() : "";
  for (const ModelFileNote& file : model_files)
    if (differs(beside(main(), file.name, ErrorKind::bad_model, kTogether),
                file.sha256_after))
      return file.name;
  return "";
}

Json claims_of(Json receipt) {
  for (const char* key : {"run", "versions", "ledger", "notes"}) receipt.erase(key);
  const auto drop = [](Json& from, const char* key) {
    if (from.is_object()) from.erase(key);
  };
  if (receipt.contains("model"))
    for (const char* key : {"name", "out"}) drop(receipt["model"], key);
  if (receipt.contains("solve")) drop(receipt["solve"], "iterations");
  if (receipt.contains("data") && receipt["data"].is_array())
    for (Json& table : receipt["data"]) drop(table, "name");
  return receipt;
}

void require_original(const Receipt& receipt, const std::string& recorded,
                      const Hash& found) {
  if (recorded == hex(found)) return;
  throw Error(
      ErrorKind::wrong_model,
      fmt::format("{}: the checksum of the restored file is not the one in the receipt",
                  receipt.files.receipt.filename().string()),
      "receipt, undo file and model must be from one run");
}

}  // namespace fmd::internal

namespace fmd {
namespace {

std::filesystem::path beside(const std::filesystem::path& out, const char* ending) {
  std::filesystem::path path = out;
  path += ending;
  return path;
}

}  // namespace

DebiasFiles::DebiasFiles(const std::filesystem::path& o)
    : out(o),
      receipt(beside(o, ".receipt.json")),
      undo(beside(o, ".undo")),
      path(beside(o, ".path.json")),
      path_tensors(beside(o, ".path.safetensors")),
      rows(rows_file_of(o)) {}

std::string undo_debias(const std::filesystem::path& receipt,
                        const std::filesystem::path& out,
                        const OutputFiles::Options& options) {
  OutputFiles files(options);
  files.reserve(out);
  const Receipt read = read_receipt(receipt);
  // Each of the three files must fit the two others: an edit of any one of them is found.
  if (const std::string changed = read.changed_file(); !changed.empty()) {
    throw Error(
        ErrorKind::wrong_model,
        fmt::format("{}: the checksum of {} is not the one in the receipt",
                    receipt.string(), changed),
        "the model or its receipt was changed after the repair: take both from a backup");
  }
  std::vector<std::string> names = {read.main().filename().string()},
                           recorded = {read.sha256_before};
  for (std::size_t k = 1; k < read.model_files.size(); ++k) {
    const ModelFileNote& file = read.model_files[k];
    if (file.sha256_before.empty()) continue;
    names.push_back(file.name);
    recorded.push_back(file.sha256_before);
  }
  const FileView undo = FileView::open(read.files.undo);
  const std::vector<Hash> restored = restore_model(
      FileSet::open(read.main()), parse_undo(undo.bytes()), names, files, out);
  for (std::size_t k = 0; k < names.size(); ++k)
    require_original(read, recorded[k], restored[k]);
  files.commit();
  return recorded[0];
}

}  // namespace fmd
