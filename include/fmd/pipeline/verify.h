#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/formats/model_file.h"
#include "fmd/report/verify_report.h"

namespace fmd {

struct Table;

struct VerifyOptions {
  // Files in place of those found by their recorded names. A file of `data` takes the role
  // of the recorded file that has its sha256. The other files are taken, in order, as DATA
  // and the hold-out.
  std::vector<std::string> data;
  std::string train, test, model;     // model: of an audit, see verify_audit.h
  std::filesystem::path data_folder;  // of data sets by name
  InputFiles inputs;                  // that the model's inputs are made of
  double tolerance = 1e-6;            // must be > 0
  ModelFormats formats = model_formats();
  // Adds to a table that was read what no table file holds, such as its tensors. Empty:
  // nothing.
  std::function<void(Table& table)> complete;
};

// Recomputes what a receipt claims. OUT and OUT.undo must be beside the receipt. Tables are
// searched by their recorded names: under the name itself, beside the receipt and in the
// current folder. They are compared by sha256. As far as the files are there, three things
// are checked: the checksums of OUT, of the original that the undo file restores and of
// every table; the repair, made again from the recorded options and seed; and every figure
// of the receipt. Threads and progress of exec are used, its seed is not. Throws
// Error(cannot_read, bad_model: not a receipt; bad_option) and, for files named in the
// options, what reading them throws. Cost: that of the repair.
[[nodiscard]] VerifyReport verify(const std::filesystem::path& receipt,
                                  const VerifyOptions& options, const Exec& exec);

}  // namespace fmd
