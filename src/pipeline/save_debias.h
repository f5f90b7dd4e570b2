#pragma once

#include <functional>

#include "core/internal.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/debias.h"

namespace fmd::internal {

// Files that cannot be written are an error before the work, not after it. What a killed
// run left behind is finished first. Throws Error(output_exists), Error(cannot_write).
void require_writable(const ModelFile& original, const SaveOptions& options);

// Which other files OUT has or needs, in words; empty: none.
[[nodiscard]] std::string other_files(const ModelFile& original,
                                      const std::filesystem::path& out);

// Writes path, undo, receipt and, last, OUT. The receipt's figures are measured on OUT
// after it was read back. A model of several files becomes a folder OUT, which must not
// exist: see write_model(). Afterwards all files are there, or none has changed. note:
// tells the date and how long the repair has taken so far.
[[nodiscard]] DebiasReport save_debias(const DebiasRun& run, const ModelFile& original,
                                       const SaveOptions& options,
                                       const std::function<RunNote()>& note);

}  // namespace fmd::internal
