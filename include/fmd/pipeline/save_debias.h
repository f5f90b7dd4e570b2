#pragma once

#include <filesystem>
#include <optional>

#include "fmd/formats/model_file.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/receipt.h"
#include "fmd/report/debias_report.h"

namespace fmd {

struct SaveOptions {
  bool force = false;                      // replace an OUT that exists
  RunNote run;                             // date and start; seconds are filled in
  ModelFormats formats = model_formats();  // to read OUT again
  std::optional<LedgerCount> ledger = {};  // for the receipt
};

// Writes path, undo, receipt and, last, OUT. The receipt's figures are measured on OUT
// after it was read back. original: the model file. A model of several files becomes a
// folder OUT, which must not exist: see write_model(). Afterwards all files are there, or
// none has changed.
DebiasReport save_debias(const DebiasRun& run, const ModelFile& original,
                         const std::filesystem::path& out, const SaveOptions& options);

}  // namespace fmd
