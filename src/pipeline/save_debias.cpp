#include "pipeline/save_debias.h"

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/rows_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/formats/undo.h"
#include "fmd/formats/write_model.h"
#include "fmd/pipeline/receipt.h"

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
  OutputFiles check({.force = options.force});
  reserve(DebiasFiles(options.out), original, check);
}

DebiasReport save_debias(const DebiasRun& run, const ModelFile& original,
                         const SaveOptions& options, const std::function<RunNote()>& note) {
  const DebiasFiles names(options.out);
  OutputFiles files({.force = options.force});
  reserve(names, original, files);

  // OUT is written first and renamed last: the figures are measured on the file after it
  // was read back.
  const WrittenModel written =
      write_model(original, original.patch(run.model()), files, names.out);
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
