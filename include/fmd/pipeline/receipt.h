#pragma once

#include <filesystem>

#include "fmd/core/types.h"

namespace fmd {

// Names of the files that a repair leaves: OUT and those beside it. save_debias()
// (pipeline/save_debias.h) writes them; receipt_json() (report/debias_report.h) says what
// is in the receipt.
struct DebiasFiles {
  std::filesystem::path out, receipt, undo, path, path_tensors;
  explicit DebiasFiles(const std::filesystem::path& out);
};

// The original model's bytes, from a receipt with OUT and OUT.undo beside it. Throws
// Error(bad_model, wrong_model, cannot_read).
[[nodiscard]] Bytes undo_bytes(const std::filesystem::path& receipt);

}  // namespace fmd
