#include <chrono>

#include "fmd/core/file.h"
#include "fmd/formats/model_file.h"
#include "fmd/formats/safetensors.h"
#include "fmd/pipeline/debias.h"

namespace fmd {
namespace {

// theta [points, parameters], and what names a point, NaN where the method has none.
Bytes path_tensors(const DebiasReport& report) {
  const Index points = static_cast<Index>(report.points.size());
  const Index parameters = points == 0 ? 0 : report.points[0].theta.size();
  Matrix theta(points, parameters);
  Matrix lambda(points, 1), s(points, 1), K(points, 1);
  for (Index k = 0; k < points; ++k) {
    const Candidate& point = report.points[static_cast<std::size_t>(k)];
    theta.row(k) = point.theta;
    lambda(k, 0) = point.lambda;
    s(k, 0) = point.s;
    K(k, 0) = static_cast<double>(point.K);
  }
  Safetensors file;
  file.tensors["theta"] = tensor_view(theta);
  file.tensors["lambda"] = tensor_view(lambda);
  file.tensors["s"] = tensor_view(s);
  file.tensors["K"] = tensor_view(K);
  return file.write();
}

}  // namespace

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

}  // namespace fmd
