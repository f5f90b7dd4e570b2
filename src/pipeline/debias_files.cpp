#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/pipeline/debias.h"
#include "pipeline/receipt.h"
#include "report/json.h"

namespace fmd {
namespace {

std::filesystem::path beside(const std::filesystem::path& out, const char* ending) {
  std::filesystem::path path = out;
  path += ending;
  return path;
}

Bytes path_tensors(const DebiasReport& report) {
  const Index points = static_cast<Index>(report.points.size());
  const Index parameters = points == 0 ? 0 : report.points[0].theta.size();
  Matrix theta(points, parameters);
  Matrix lambda(points, 1);
  for (Index k = 0; k < points; ++k) {
    theta.row(k) = report.points[static_cast<std::size_t>(k)].theta;
    lambda(k, 0) = report.points[static_cast<std::size_t>(k)].lambda;
  }
  Safetensors file;
  file.tensors["theta"] = tensor_view(theta);
  file.tensors["lambda"] = tensor_view(lambda);
  return file.write();
}

}  // namespace

DebiasFiles::DebiasFiles(const std::filesystem::path& o)
    : out(o),
      receipt(beside(o, ".receipt.json")),
      undo(beside(o, ".undo")),
      path(beside(o, ".path.json")),
      path_tensors(beside(o, ".path.safetensors")) {}

std::string options_json(const DebiasOptions& o, std::uint64_t seed) {
  Json json;
  json["method"] = o.method;
  json["repair"] = o.repair;
  json["target"] = o.target ? Json(to_string(*o.target)) : Json(nullptr);
  json["max_accuracy_loss"] = o.max_accuracy_loss;
  json["at_lambda"] = o.at_lambda ? Json(*o.at_lambda) : Json(nullptr);
  json["best_effort"] = o.best_effort;
  json["keep_rate"] = o.keep_rate;
  json["holdout_share"] = o.holdout_share;
  json["points"] = o.points;
  json["anchor"] = o.anchor;
  json["fit"] = o.fit;
  json["mu"] = o.mu;
  json["gaps"] = Json::array();
  for (const Limit& gap : o.gaps) json["gaps"].push_back(to_string(gap));
  json["confidence"] = o.audit.confidence;
  json["replicates"] = o.audit.replicates;
  json["seed"] = seed;
  return json.dump();
}

DebiasReport save_debias(const DebiasRun& run, std::span<const std::uint8_t> original,
                         const std::filesystem::path& out, const SaveOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const DebiasFiles names(out);
  OutputFiles files({.force = options.force});
  for (const auto* path :
       {&names.path_tensors, &names.path, &names.undo, &names.receipt, &names.out})
    files.reserve(*path);

  // OUT is written first and renamed last: the figures are those of the file as it is read
  // back.
  const Bytes bytes = model_bytes(run.model());
  files.write(names.out, bytes);
  DebiasReport report = run.measure(open_model(files.temporary(names.out)));
  report.out = out.filename().string();
  report.model_sha256 = hex(sha256(original));
  report.out_sha256 = hex(sha256(bytes));
  files.write(names.path_tensors, path_tensors(report));
  files.write(names.path, path_json(report));
  files.write(names.undo, make_undo(original, bytes));
  RunNote note = options.run;
  note.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  files.write(names.receipt, receipt_json(report, note));
  files.commit();
  return report;
}

Bytes undo_bytes(const std::filesystem::path& receipt) {
  constexpr std::string_view kEnding = ".receipt.json";
  const std::string name = receipt.string();
  if (!name.ends_with(kEnding)) {
    throw Error(ErrorKind::bad_option, fmt::format("undo: {} is no receipt", name),
                "name the file that ends in .receipt.json beside the repaired model");
  }
  const DebiasFiles files(
      std::filesystem::path(name.substr(0, name.size() - kEnding.size())));
  recover(files.out);
  const FileView text = FileView::open(receipt);
  const ReceiptHashes hashes = parse_receipt(text.text(), name);
  const FileView undo = FileView::open(files.undo);
  const FileView changed = FileView::open(files.out);
  // Each of the three files must fit the two others: an edit of any one of them is found.
  if (hashes.after != hex(sha256(changed.bytes()))) {
    throw Error(ErrorKind::wrong_model,
                fmt::format("{}: {} has another checksum than the receipt says", name,
                            files.out.filename().string()),
                "the model or its receipt was changed after the repair: take both from a "
                "backup");
  }
  Bytes original = apply_undo(undo.bytes(), changed.bytes());
  if (hashes.before != hex(sha256(original))) {
    throw Error(
        ErrorKind::wrong_model,
        fmt::format("{}: the restored file has another checksum than the receipt says",
                    name),
        "receipt, undo file and model must be from one run");
  }
  return original;
}

}  // namespace fmd
