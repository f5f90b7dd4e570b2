#include "pipeline/save_debias.h"

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/rows_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/formats/undo.h"
#include "fmd/formats/write_model.h"
#include "fmd/pipeline/receipt.h"
#include "formats/side_files.h"

namespace fmd::internal {
namespace {

// theta [candidates, parameters], and what names a candidate: NaN (K: 0) where the method
// has no such name. gamma and mu of matched pairs are in OUT.path.json alone.
Bytes path_tensors(const DebiasReport& report) {
  const Index count = static_cast<Index>(report.candidates.size());
  const Index parameters = count == 0 ? 0 : report.candidates[0].theta.size();
  Matrix theta(count, parameters);
  Matrix lambda(count, 1), s(count, 1), K(count, 1);
  for (Index k = 0; k < count; ++k) {
    const Candidate& candidate = report.candidates[static_cast<std::size_t>(k)];
    theta.row(k) = candidate.theta;
    lambda(k, 0) = candidate.lambda;
    s(k, 0) = candidate.s;
    K(k, 0) = static_cast<double>(candidate.K);
  }
  Safetensors file;
  file.tensors["theta"] = tensor_view(theta);
  file.tensors["lambda"] = tensor_view(lambda);
  file.tensors["s"] = tensor_view(s);
  file.tensors["K"] = tensor_view(K);
  return file.write();
}

// A model with side files becomes a file beside them where OUT has the ending of the model,
// otherwise a folder with copies of them.
bool becomes_folder(const ModelFile& original, const std::filesystem::path& out) {
  return side_files(original) != nullptr && out.extension() != original.path().extension();
}

void require_place(const ModelFile& original, const std::filesystem::path& out) {
  const HasSideFiles* side = side_files(original);
  if (side == nullptr || becomes_folder(original, out)) return;
  const auto folder = [](const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  };
  std::error_code absent;
  if (std::filesystem::equivalent(folder(out), folder(original.path()), absent)) return;
  throw Error(
      ErrorKind::bad_option,
      fmt::format("debias: OUT {} must be in the folder of {}, which needs its external "
                  "data (\"{}\") beside it",
                  safe_text(out.string()), safe_text(original.file_set().source()),
                  safe_text(side->side_files()[0])),
      fmt::format("write into that folder, or name a new folder, which gets a copy of all "
                  "files: -o {}",
                  safe_text((out.parent_path() / out.stem()).string())));
}

void reserve(const DebiasFiles& names, const ModelFile& original, OutputFiles& files) {
  if (!original.model().note.row_hashes.empty()) files.reserve(names.rows);
  for (const auto* path :
       {&names.path_tensors, &names.path, &names.undo, &names.receipt, &names.out})
    files.reserve(*path);
}

}  // namespace

void require_writable(const ModelFile& original, const SaveOptions& options) {
  recover(options.out);
  std::error_code absent;
  if (std::filesystem::equivalent(options.out, original.path(), absent)) {
    throw Error(ErrorKind::output_exists,
                fmt::format("debias: OUT {} is the model itself", options.out.string()),
                "a model is never overwritten: write to another name");
  }
  require_place(original, options.out);
  OutputFiles check({.force = options.force});
  reserve(DebiasFiles(options.out), original, check);
  if (becomes_folder(original, options.out)) check.reserve_folder(options.out);
}

std::string other_files(const ModelFile& original, const std::filesystem::path& out) {
  const HasSideFiles* side = side_files(original);
  if (side == nullptr) return "";
  std::string names;
  for (const std::string& name : side->side_files())
    names += (names.empty() ? "" : ", ") + safe_text(name);
  return becomes_folder(original, out)
             ? fmt::format("{} is a folder with {} and a copy of {}: keep them together",
                           safe_text(out.string()), safe_text(original.file_set().source()),
                           names)
             : fmt::format("{} needs {} beside it: it serves both models",
                           safe_text(out.string()), names);
}

DebiasReport save_debias(const DebiasRun& run, const ModelFile& original,
                         const SaveOptions& options, const std::function<RunNote()>& note) {
  const DebiasFiles names(options.out);
  OutputFiles files({.force = options.force});
  reserve(names, original, files);

  // OUT is written first and renamed last: the figures are measured on the file after it
  // was read back.
  const WrittenModel written =
      becomes_folder(original, names.out)
          ? write_with_side_files(original, side_files(original)->patch_copies(run.model()),
                                  files, names.out)
          : write_model(original, original.patch(run.model()), files, names.out);
  DebiasReport report =
      run.measure(open_model(files.temporary(written.main), options.formats));
  report.out = options.out.filename().string();
  report.model_sha256 = hex(*written.files[0].before);
  report.out_sha256 = hex(written.files[0].after);
  if (written.files.size() > 1)
    for (const FileChange& file : written.files)
      report.model_files.push_back(
          {file.name, file.before ? hex(*file.before) : "", hex(file.after)});
  files.write(names.path_tensors, path_tensors(report));
  files.write(names.path, path_json(report));
  if (const auto& rows = original.model().note.row_hashes; !rows.empty())
    files.write(names.rows, rows_bytes(rows));
  files.write(names.undo, undo_bytes(written.undo));
  files.write(names.receipt, receipt_json(report, note()));
  files.commit();
  return report;
}

}  // namespace fmd::internal
