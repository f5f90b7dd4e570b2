#pragma once

#include <filesystem>
#include <string>

#include "fmd/core/output_files.h"

namespace fmd {

// Names of the files that a repair leaves: OUT and those beside it. debias()
// (pipeline/debias.h) writes them; receipt_json() (report/debias_report.h) says what
// is in the receipt.
struct DebiasFiles {
  std::filesystem::path out, receipt, undo, path, path_tensors, rows;
  explicit DebiasFiles(const std::filesystem::path& out);
};

// Writes the original model, from a receipt with OUT and OUT.undo beside it: a file, or a
// folder for a model of several files. The sha256 of the file that is opened, as text.
// Memory does not grow with the model. Throws Error(bad_model, wrong_model, cannot_read,
// output_exists, cannot_write).
std::string undo_debias(const std::filesystem::path& receipt,
                        const std::filesystem::path& out,
                        const OutputFiles::Options& options);

}  // namespace fmd
