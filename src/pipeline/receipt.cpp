#include "fmd/pipeline/receipt.h"

#include <fmt/format.h>

#include "core/json.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/undo.h"
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

}  // namespace

Receipt parse_receipt(std::string_view text, const std::filesystem::path& path) {
  Receipt receipt{.files = DebiasFiles(out_of(path)),
                  .json = parse_json<Json>(text, path.string(), ErrorKind::bad_model,
                                           "this is not an fmd receipt",
                                           "name the receipt that `fmd debias` wrote"),
                  .sha256_before = "",
                  .sha256_after = ""};
  const Json& json = receipt.json;
  if (!json.is_object() || !json.contains("model") || !json["model"].is_object()) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: this is not an fmd receipt", path.string()),
                "name the receipt that `fmd debias` wrote");
  }
  // A later schema may mean other things by the same keys.
  if (!json.contains("schema") || json["schema"] != 1) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: this version of fmd reads receipts of schema 1, not {}",
                            path.string(),
                            json.contains("schema") ? json["schema"].dump() : "none"),
                "use the version of fmd that wrote the receipt, or a newer one");
  }
  const nlohmann::json object = json["model"];
  const JsonReader model(object, path.string() + ", model");
  receipt.sha256_before = model.text("sha256_before");
  receipt.sha256_after = model.text("sha256_after");
  return receipt;
}

Receipt read_receipt(const std::filesystem::path& path) {
  recover(out_of(path));
  return parse_receipt(FileView::open(path, kMostJson).text(), path);
}

std::vector<DataNote> Receipt::data() const {
  std::vector<DataNote> notes;
  const nlohmann::json object = json;
  const JsonReader reader(object, name());
  for (const JsonReader& one : reader.objects("data")) {
    DataNote note;
    note.role = one.text("role");
    note.name = one.text("name");
    if (one.has("sha256")) note.sha256 = one.text("sha256");
    if (one.has("key")) note.key = one.text("key");
    notes.push_back(std::move(note));
  }
  return notes;
}

Bytes restore_original(const Receipt& receipt) {
  const FileView undo = FileView::open(receipt.files.undo);
  const FileView changed = FileView::open(receipt.files.out);
  Bytes original = apply_undo(undo.bytes(), changed.bytes());
  if (receipt.sha256_before != hex(sha256(original))) {
    throw Error(
        ErrorKind::wrong_model,
        fmt::format("{}: the checksum of the restored file is not the one in the receipt",
                    receipt.files.receipt.filename().string()),
        "receipt, undo file and model must be from one run");
  }
  return original;
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
      path_tensors(beside(o, ".path.safetensors")) {}

Bytes undo_bytes(const std::filesystem::path& receipt) {
  const Receipt read = read_receipt(receipt);
  // Each of the three files must fit the two others: an edit of any one of them is found.
  if (read.sha256_after != hex(sha256_file(read.files.out))) {
    throw Error(
        ErrorKind::wrong_model,
        fmt::format("{}: the checksum of {} is not the one in the receipt",
                    receipt.string(), read.files.out.filename().string()),
        "the model or its receipt was changed after the repair: take both from a backup");
  }
  return restore_original(read);
}

}  // namespace fmd
